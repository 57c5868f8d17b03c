// Two threads lower two semaphores in opposite order.
#include <functional>
#include <semaphore>
#include <thread>

static std::binary_semaphore one(1), other(1);
static int x;

static void work(std::binary_semaphore &first, std::binary_semaphore &second)
{
    first.acquire();
    second.acquire();
    x++;
    second.release();
    first.release();
}

int main()
{
    std::thread thread(work, std::ref(one), std::ref(other));
    work(other, one);
    thread.join();
}
