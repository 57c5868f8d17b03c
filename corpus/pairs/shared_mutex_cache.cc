// Correct: a thread that misses the cache under the shared lock looks again under the exclusive lock before
// it computes.
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
    if (cached == 0) {
        computed++;
        cached = 42;
    }
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
