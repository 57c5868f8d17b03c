// Wrong: a thread that missed the cache does not look again under the exclusive lock, so two can compute the
// value.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static int cached = 0, computed = 0;

static int lookup()
{
    {
        std::shared_lock held(lock);
        if (cached != 0)
            return cached;
    }
    std::unique_lock held(lock);
    computed++;
    cached = 42;
    return cached;
}

int main()
{
    std::thread first(lookup), second(lookup);

    first.join();
    second.join();
    assert(computed == 1);
    std::printf("computed %d time: %d\n", computed, cached);
}
