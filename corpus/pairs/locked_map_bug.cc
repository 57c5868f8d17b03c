// As locked_map.cc, but the sum of what was added is kept without the lock.
#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::map<std::string, int> entries;
static std::mutex lock;
static int sum;

static void add(int number) {
    {
        std::lock_guard<std::mutex> guard(lock);
        entries["entry " + std::to_string(number)] = number;
    }
    sum += number;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 1; i <= 3; i++)
        threads.emplace_back([i] { add(i); });
    for (auto &thread : threads)
        thread.join();
    assert(sum == 6);
}
