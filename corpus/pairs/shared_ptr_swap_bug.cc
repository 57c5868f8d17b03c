// Wrong: the reader copies the shared_ptr without the lock while the writer replaces it: it can count up the
// block that was just freed.
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
