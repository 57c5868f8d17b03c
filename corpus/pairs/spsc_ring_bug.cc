// Wrong: the producer publishes the new end before it writes the slot, so the consumer can read what is not
// there yet.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static constexpr int SLOTS = 2, ITEMS = 3;
static int ring[SLOTS];
static std::atomic<int> begin{0}, end{0};

static void produce()
{
    for (int item = 1; item <= ITEMS; item++) {
        int last = end.load(std::memory_order_relaxed);
        while (last - begin.load(std::memory_order_acquire) == SLOTS)
            std::this_thread::yield();
        end.store(last + 1, std::memory_order_release);
        ring[last % SLOTS] = item;
    }
}

static int consume()
{
    int first = begin.load(std::memory_order_relaxed);
    while (end.load(std::memory_order_acquire) == first)
        std::this_thread::yield();
    int item = ring[first % SLOTS];
    begin.store(first + 1, std::memory_order_release);
    return item;
}

int main()
{
    std::thread producer(produce);

    for (int expected = 1; expected <= ITEMS; expected++) {
        int item = consume();
        assert(item == expected);
    }
    producer.join();
    std::puts("items came in order");
}
