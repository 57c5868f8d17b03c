// Globals made of parts: a report names the part. They are not static, since clang takes apart those that are.
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <thread>

struct Point { int x, y; };
struct Named { long id; };
struct Account : Named {
    pthread_mutex_t lock;
    std::mutex other;
    Point at[2];
    std::atomic<int> visits;
};

Account accounts[3];
int grid[2][3];
namespace shop { Point door; }
union Either { int number; struct { short low, high; } half; };
Either either;

static void work(int amount)
{
    pthread_mutex_lock(&accounts[1].lock);
    accounts[1].id += amount;
    accounts[2].at[1].y += amount;
    grid[1][2] += amount;
    shop::door.y += amount;
    either.half.high += amount;
    pthread_mutex_unlock(&accounts[1].lock);
    std::lock_guard<std::mutex> guard(accounts[2].other);
    accounts[0].visits += amount;
}

int main()
{
    pthread_mutex_init(&accounts[1].lock, nullptr);
    std::thread other(work, 1);
    work(2);
    other.join();
}
