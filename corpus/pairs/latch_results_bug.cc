// Wrong: the latch counts one worker only, so main can read the other's result before it is written.
#include <cassert>
#include <cstdio>
#include <latch>
#include <thread>

static std::latch done(1);
static int results[2];

static void work(int me)
{
    results[me] = (me + 1) * 100;
    if (me == 0)
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
