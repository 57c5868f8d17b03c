// Correct: main waits for one count of the latch from each worker, and every worker counts down after it has
// written.
#include <cassert>
#include <cstdio>
#include <latch>
#include <thread>

static std::latch done(2);
static int results[2];

static void work(int me)
{
    results[me] = (me + 1) * 100;
    done.count_down();
}

int main()
{
    std::thread first(work, 0), second(work, 1);

    done.wait();
    int sum = results[0] + results[1];
    first.join();
    second.join();
    assert(sum == 300);
    std::printf("sum %d\n", sum);
}
