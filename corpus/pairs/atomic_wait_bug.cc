// Wrong: notify_one wakes up only one of the two runners; the other waits forever if it was already waiting.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> signal_given{0};
static std::atomic<int> started{0};

static void run()
{
    signal_given.wait(0);
    started++;
}

int main()
{
    std::thread first(run), second(run);

    signal_given = 1;
    signal_given.notify_one();
    first.join();
    second.join();
    assert(started == 2);
    std::printf("%d started\n", started.load());
}
