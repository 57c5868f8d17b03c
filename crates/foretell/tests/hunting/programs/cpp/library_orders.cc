// What the C++ library does in its own code puts threads in order: doing something once, a lock for readers and writers, the counts of shared pointers.
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

struct Config {
    int value = 3;
};

static std::once_flag flag;
static Config *config;
static std::shared_mutex lock;
static std::condition_variable_any changed;
static bool is_ready;
static int sum, uses[2];

static void use(int index)
{
    std::call_once(flag, [] { config = new Config; });
    uses[index] = config->value;
}

int main()
{
    std::thread one(use, 0), other(use, 1);
    std::thread setter([] {
        std::unique_lock<std::shared_mutex> held(lock);
        sum = 7;
        is_ready = true;
        changed.notify_all();
    });
    {
        std::unique_lock<std::shared_mutex> held(lock);
        changed.wait(held, [] { return is_ready; });
    }
    int seen;
    {
        std::shared_lock<std::shared_mutex> held(lock);
        seen = sum;
    }
    auto owner = std::make_shared<int>(1);
    std::weak_ptr<int> observer = owner;
    std::thread last([observer] {
        if (auto held = observer.lock())
            *held += 1;
    });
    observer.reset();
    last.join();
    one.join();
    other.join();
    setter.join();
    printf("%d %d\n", seen, uses[0] + uses[1]);
    delete config;
}
