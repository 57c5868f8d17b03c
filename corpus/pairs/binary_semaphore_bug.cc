// Wrong: both semaphores start at 0, so both players wait for the ball forever.
#include <cassert>
#include <cstdio>
#include <semaphore>
#include <thread>

static std::binary_semaphore to_left(0), to_right(0);
static int ball = 0;

static void left()
{
    for (int i = 0; i < 2; i++) {
        to_left.acquire();
        ball++;
        to_right.release();
    }
}

static void right()
{
    for (int i = 0; i < 2; i++) {
        to_right.acquire();
        ball *= 2;
        to_left.release();
    }
}

int main()
{
    std::thread first(left), second(right);

    first.join();
    second.join();
    assert(ball == 6);
    std::printf("ball %d\n", ball);
}
