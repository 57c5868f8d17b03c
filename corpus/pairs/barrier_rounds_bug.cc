// Wrong: the first worker swaps the buffers after the barrier, when the second may already use them for the
// next round.
#include <barrier>
#include <cassert>
#include <cstdio>
#include <thread>

static int buffers[2][2] = {{1, 2}, {0, 0}};
static int current;

static void swap_buffers()
{
    current = 1 - current;
}

static std::barrier round_end(2);

static void work(int me)
{
    for (int round = 0; round < 2; round++) {
        int *from = buffers[current], *to = buffers[1 - current];

        to[me] = from[0] + from[1];
        round_end.arrive_and_wait();
        if (me == 0)
            swap_buffers();
    }
}

int main()
{
    std::thread first(work, 0), second(work, 1);

    first.join();
    second.join();
    assert(buffers[current][0] == 6 && buffers[current][1] == 6);
    std::puts("both are 6");
}
