#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace bank {
std::mutex lock;
int balance;
bool ready;
std::condition_variable changed;

int &setting()
{
    static int value = 1;
    return value;
}
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            std::unique_lock<std::mutex> held(bank::lock);
            bank::changed.wait(held, [] { return bank::ready; });
            bank::balance += bank::setting();
        });
    {
        std::lock_guard<std::mutex> held(bank::lock);
        bank::ready = true;
        bank::changed.notify_all();
    }
    for (auto &thread : threads)
        thread.join();
    std::printf("%d %d\n", bank::balance, bank::setting());
}
