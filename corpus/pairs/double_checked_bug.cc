// Wrong: the pointer is published before the settings are complete, so a thread that does not take the lock
// can read them too early.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Settings {
    int timeout = 0;
};

static std::mutex lock;
static Settings storage;
static std::atomic<Settings *> settings{nullptr};

static Settings *get_settings()
{
    Settings *ready = settings.load(std::memory_order_acquire);
    if (ready == nullptr) {
        std::lock_guard held(lock);
        ready = settings.load(std::memory_order_relaxed);
        if (ready == nullptr) {
            ready = &storage;
            settings.store(ready, std::memory_order_release);
            storage.timeout = 30;
        }
    }
    return ready;
}

static void use()
{
    assert(get_settings()->timeout == 30);
}

int main()
{
    std::thread first(use), second(use);

    first.join();
    second.join();
    std::printf("timeout %d\n", storage.timeout);
}
