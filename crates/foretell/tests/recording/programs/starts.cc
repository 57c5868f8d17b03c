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
    std::printf("%d\n", shared);
    return 0;
}
