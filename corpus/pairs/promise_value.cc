// Correct: the report is complete before the promise is fulfilled, and main reads it after the future is
// ready.
#include <cassert>
#include <cstdio>
#include <future>
#include <thread>

static int lines = 0;

static void write_report(std::promise<int> pages)
{
    lines = 120;
    pages.set_value(3);
}

int main()
{
    std::promise<int> promise;
    std::future<int> pages = promise.get_future();
    std::thread writer(write_report, std::move(promise));

    int count = pages.get();
    assert(lines == 120);
    writer.join();
    std::printf("%d pages, %d lines\n", count, lines);
}
