// Correct: the gate is opened under the lock, so it cannot open between a visitor's look at it and the
// visitor's wait.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static std::condition_variable_any opened;
static bool gate_open = false;

static void visit()
{
    std::shared_lock held(lock);
    while (!gate_open)
        opened.wait(held);
}

static void open_gate()
{
    std::unique_lock held(lock);
    gate_open = true;
    opened.notify_all();
}

int main()
{
    std::thread first(visit), second(visit);

    open_gate();
    first.join();
    second.join();
    std::puts("both visitors are in");
}
