#include <cstdio>
#include <thread>

int shared;

static void run()
{
    shared++;
}

int main()
{
    std::thread thread(run);
    thread.join();
    std::thread other([] { shared++; });
    other.join();
    std::printf("%d\n", shared);
    return 0;
}
