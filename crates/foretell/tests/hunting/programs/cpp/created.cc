#include <functional>
#include <future>
#include <thread>

static int by_thread, by_async;

static void adds(int &counter)
{
    counter++;
}

int main()
{
    std::thread
        thread(adds, std::ref(by_thread)); // a thread
    by_thread++;
    thread.join();
    auto later = std::async(std::launch::async, adds, std::ref(by_async)); // a task
    by_async++;
    later.get();
    return 0;
}
