// Correct: the maximum is raised by compare-and-swap, which fails when another thread has changed it.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> maximum{0};

static void report(int value)
{
    int seen = maximum.load();
    while (seen < value && !maximum.compare_exchange_strong(seen, value)) {
    }
}

int main()
{
    std::thread low(report, 3), high(report, 9);

    low.join();
    high.join();
    assert(maximum == 9);
    std::printf("maximum %d\n", maximum.load());
}
