#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int by_latch, by_barrier, by_semaphore, by_shared, by_any, by_wait, by_future, by_once, by_stop, by_async, by_local;

struct AtEnd {
    int *counts = nullptr;
    ~AtEnd()
    {
        if (counts)
            ++*counts;
    }
};

thread_local AtEnd at_end;

static int &guarded()
{
    static int value = 5;
    return value;
}

static void latches_barriers_semaphores()
{
    std::latch latch(1);
    std::thread first([&] { by_latch = 1; latch.count_down(); });
    latch.wait();
    by_latch++;
    first.join();

    std::barrier<> barrier(2);
    std::thread second([&] {
        by_barrier = 1;
        barrier.arrive_and_wait();
        barrier.arrive_and_wait();
        by_barrier++;
    });
    barrier.arrive_and_wait();
    by_barrier++;
    barrier.arrive_and_wait();
    second.join();

    std::counting_semaphore<4> semaphore(0);
    std::thread third([&] { by_semaphore = 1; semaphore.release(); });
    semaphore.acquire();
    by_semaphore++;
    third.join();

    std::atomic<int> word{0};
    std::thread fourth([&] { by_wait = 1; word = 1; word.notify_one(); });
    word.wait(0);
    by_wait++;
    fourth.join();
}

static void locks()
{
    std::shared_mutex shared;
    std::thread first([&] { std::unique_lock lock(shared); by_shared++; });
    {
        std::shared_lock lock(shared);
        if (by_shared > 1)
            return;
    }
    first.join();

    std::mutex mutex;
    std::condition_variable_any condition;
    bool ready = false;
    std::thread second([&] {
        {
            std::lock_guard lock(mutex);
            by_any = 1;
            ready = true;
        }
        condition.notify_one();
    });
    {
        std::unique_lock lock(mutex);
        condition.wait(lock, [&] { return ready; });
        by_any++;
    }
    second.join();

    std::once_flag flag;
    auto once = [&] {
        std::call_once(flag, [] { by_once = 1; });
        return by_once + guarded();
    };
    std::thread third(once);
    once();
    third.join();
}

static void futures()
{
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread first([&] { by_future = 1; promise.set_value(2); });
    int value = future.get();
    by_future += value;
    first.join();

    std::promise<int> failing;
    auto failed = failing.get_future();
    std::thread second([&] {
        try {
            throw std::runtime_error("a text that is too long to be kept in the object");
        } catch (...) {
            failing.set_exception(std::current_exception());
        }
    });
    try {
        failed.get();
    } catch (std::exception &error) {
        by_future += error.what()[0] == 'a';
    }
    second.join();

    auto list = std::async(std::launch::async, [] { by_async = 1; return std::vector<int>{1, 2}; });
    by_async += static_cast<int>(list.get().size());
}

static void ends()
{
#ifdef __cpp_lib_jthread
    std::jthread stoppable([](std::stop_token token) {
        while (!token.stop_requested())
            std::this_thread::yield();
        by_stop = 1;
    });
    stoppable.request_stop();
    stoppable.join();
    by_stop++;
#else
    by_stop = 2; /* an older libc++ */
#endif

    std::thread counted([] { at_end.counts = &by_local; });
    counted.join();
    by_local++;

    auto text = std::make_shared<std::string>("another text that is on the heap for its length");
    std::thread last([text] { by_local += text->size() > 20; });
    text.reset();
    last.join();
}

int main()
{
    latches_barriers_semaphores();
    locks();
    futures();
    ends();
    std::printf("%d %d %d %d %d %d %d %d %d %d %d\n", by_latch, by_barrier, by_semaphore, by_shared, by_any, by_wait,
                by_future, by_once, by_stop, by_async, by_local);
    return 0;
}
