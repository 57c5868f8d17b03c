// Correct: the shared_ptr that one thread replaces and the other copies is protected by a mutex.
#include <cassert>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::shared_ptr<int> current = std::make_shared<int>(1);

static void replace()
{
    auto fresh = std::make_shared<int>(2);
    std::lock_guard held(lock);
    current = fresh;
}

static std::shared_ptr<int> get()
{
    std::lock_guard held(lock);
    return current;
}

int main()
{
    std::thread writer(replace);
    auto mine = get();

    assert(*mine == 1 || *mine == 2);
    writer.join();
    assert(*get() == 2);
    std::printf("current %d\n", *get());
}
