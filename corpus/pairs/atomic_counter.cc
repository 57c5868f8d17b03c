// Correct: each visitor is counted in one step, by fetch_add.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> visitors{0};

static void enter()
{
    visitors.fetch_add(1, std::memory_order_relaxed);
}

int main()
{
    std::thread front(enter), back(enter);

    front.join();
    back.join();
    assert(visitors == 2);
    std::printf("%d visitors\n", visitors.load());
}
