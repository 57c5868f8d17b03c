// Correct: the worker waits with its stop token, so the request to stop wakes it up.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <thread>

static std::mutex lock;
static std::condition_variable_any changed;
static int jobs = 0, finished = 0;

static void work(std::stop_token stop)
{
    std::unique_lock held(lock);
    while (changed.wait(held, stop, [] { return jobs > 0; })) {
        jobs--;
        finished++;
        changed.notify_all();
    }
}

int main()
{
    {
        std::jthread worker(work);
        std::unique_lock held(lock);
        jobs = 1;
        changed.notify_all();
        changed.wait(held, [] { return finished == 1; });
        held.unlock();
    } // the destructor asks the worker to stop, and joins it
    std::printf("%d job finished\n", finished);
}
