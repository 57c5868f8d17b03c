// Wrong: the maximum is compared and stored in two steps, so the smaller value can overwrite the greater one.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> maximum{0};

static void report(int value)
{
    if (maximum.load() < value)
        maximum.store(value);
}

int main()
{
    std::thread low(report, 3), high(report, 9);

    low.join();
    high.join();
    assert(maximum == 9);
    std::printf("maximum %d\n", maximum.load());
}
