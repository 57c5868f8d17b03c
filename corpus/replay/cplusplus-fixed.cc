// expect: none
// allow: atomicity
// The pages are counted before the job is announced.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex desk;
std::condition_variable announced;
bool ready;
int pages, printed, last;

void note(int what)
{
    std::lock_guard<std::mutex> guard(desk);
    last = what;
}

void print()
{
    {
        std::unique_lock<std::mutex> guard(desk);
        while (!ready)
            announced.wait(guard);
    }
    note(1);
    printed = pages;
}

void announce()
{
    std::lock_guard<std::mutex> guard(desk);
    ready = true;
    announced.notify_one();
}

} // namespace

int main()
{
    std::thread printer(print);

    pages = 3;
    announce();
    note(2);
    printer.join();
    std::printf("printed %d pages, last %d\n", printed, last);
    return printed == 3 ? 0 : 1;
}
