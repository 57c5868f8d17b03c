// Wrong: each visitor is counted by a load and a store, so two who enter at the same time count as one.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static std::atomic<int> visitors{0};

static void enter()
{
    int before = visitors.load();
    visitors.store(before + 1);
}

int main()
{
    std::thread front(enter), back(enter);

    front.join();
    back.join();
    assert(visitors == 2);
    std::printf("%d visitors\n", visitors.load());
}
