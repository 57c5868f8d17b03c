// Correct: the reader tries again when the sequence number was odd or has changed. The data are atomics:
// release stores make the odd number visible to whoever acquires new data.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> sequence{0}, low{0}, high{0};

static void update(int value)
{
    int before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    low.store(value, std::memory_order_release);
    high.store(value, std::memory_order_release);
    sequence.store(before + 2, std::memory_order_release);
}

static void snapshot(int &first, int &second)
{
    while (true) {
        int before = sequence.load(std::memory_order_acquire);
        first = low.load(std::memory_order_acquire);
        second = high.load(std::memory_order_acquire);
        int after = sequence.load(std::memory_order_relaxed);
        if (before % 2 == 0 && before == after)
            return;
        std::this_thread::yield();
    }
}

static void check()
{
    int first, second;
    snapshot(first, second);
    assert(first == second);
}

int main()
{
    std::thread writer(update, 7), reader(check);

    writer.join();
    reader.join();
    std::printf("low %d, high %d\n", low.load(), high.load());
}
