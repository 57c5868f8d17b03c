// Correct: two permits for two desks, and each of three guests gives its permit back.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <semaphore>
#include <thread>

static std::counting_semaphore<2> desks(2);
static std::atomic<int> seated{0}, served{0};

static void check_in()
{
    desks.acquire();
    int now = ++seated;
    assert(now <= 2);
    served++;
    seated--;
    desks.release();
}

int main()
{
    std::thread first(check_in), second(check_in), third(check_in);

    first.join();
    second.join();
    third.join();
    std::printf("%d served\n", served.load());
}
