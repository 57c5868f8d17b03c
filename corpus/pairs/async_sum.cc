// Correct: each task sums its own half into a value of its own, which get() returns.
#include <cassert>
#include <cstdio>
#include <future>

static const int numbers[4] = {1, 2, 3, 4};

static int sum(int from, int to)
{
    int total = 0;
    for (int i = from; i < to; i++)
        total += numbers[i];
    return total;
}

int main()
{
    auto low = std::async(std::launch::async, sum, 0, 2);
    auto high = std::async(std::launch::async, sum, 2, 4);
    int total = low.get() + high.get();

    assert(total == 10);
    std::printf("total %d\n", total);
}
