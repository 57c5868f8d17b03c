// Wrong: print_all calls print while it holds the lock, and a plain mutex cannot be taken twice: the thread
// waits for itself.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static int printed = 0;

static void print()
{
    std::lock_guard held(lock);
    printed++;
}

static void print_all()
{
    std::lock_guard held(lock);
    print();
    print();
}

int main()
{
    std::thread one(print), all(print_all);

    one.join();
    all.join();
    assert(printed == 3);
    std::printf("printed %d\n", printed);
}
