// Two threads take two locks for readers and writers in opposite order.
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex one, other;
static int x;

int main()
{
    std::thread thread([] {
        std::unique_lock<std::shared_mutex> first(one);
        std::unique_lock<std::shared_mutex> second(other);
        x++;
    });
    {
        std::unique_lock<std::shared_mutex> first(other);
        std::shared_lock<std::shared_mutex> second(one);
        x++;
    }
    thread.join();
}
