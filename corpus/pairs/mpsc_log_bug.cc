// Wrong: the consumer takes a reserved slot for a written one, so it can read a message that is not there
// yet.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

struct Slot {
    int message = 0;
    std::atomic<bool> ready{false};
};

static Slot slots[2];
static std::atomic<int> reserved{0};

static void append(int message)
{
    Slot &slot = slots[reserved.fetch_add(1)];
    slot.message = message;
    slot.ready.store(true, std::memory_order_release);
}

static int take(int index)
{
    Slot &slot = slots[index];
    while (reserved.load() <= index)
        std::this_thread::yield();
    return slot.message;
}

int main()
{
    std::thread first(append, 20), second(append, 22);
    int sum = take(0) + take(1);

    first.join();
    second.join();
    assert(sum == 42);
    std::printf("sum %d\n", sum);
}
