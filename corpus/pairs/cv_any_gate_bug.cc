// Wrong: the gate is opened without the lock, so it can open between a visitor's look and the wait, and
// nobody wakes the visitor up.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static std::condition_variable_any opened;
static std::atomic<bool> gate_open{false};

static void visit()
{
    std::shared_lock held(lock);
    while (!gate_open)
        opened.wait(held);
}

static void open_gate()
{
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
