// Wrong: both tasks add to the same plain variable, so an addition can be lost.
#include <cassert>
#include <cstdio>
#include <future>

static const int numbers[4] = {1, 2, 3, 4};

static int total = 0;

static void sum(int from, int to)
{
    for (int i = from; i < to; i++)
        total += numbers[i];
}

int main()
{
    auto low = std::async(std::launch::async, sum, 0, 2);
    auto high = std::async(std::launch::async, sum, 2, 4);

    low.get();
    high.get();
    assert(total == 10);
    std::printf("total %d\n", total);
}
