// Wrong: a guest who finds both desks taken goes on without a permit, so three can sit at two desks.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <semaphore>
#include <thread>

static std::counting_semaphore<2> desks(2);
static std::atomic<int> seated{0}, served{0};

static void check_in()
{
    if (!desks.try_acquire())
        std::this_thread::yield(); // a short wait should do
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
