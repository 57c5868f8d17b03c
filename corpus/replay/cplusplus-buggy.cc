// expect: race pages @ "pages = 3;" ~ "printed = pages;"
// allow: atomicity
// fails: exit 1
// A printer waits for a job. The clerk announces the job, and then writes down how many pages it has.
#include <chrono>
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
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
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

    announce();
    pages = 3;
    note(2);
    printer.join();
    std::printf("printed %d pages, last %d\n", printed, last);
    return printed == 3 ? 0 : 1;
}
