// Correct: the producer writes the slot before it publishes the new end with release; the consumer acquires
// the end first.
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
        ring[last % SLOTS] = item;
        end.store(last + 1, std::memory_order_release);
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
