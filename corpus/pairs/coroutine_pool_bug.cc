// Coroutines that a pool of threads resumes. A job counts its moves after it has been handed over, when another thread may run it already.
#include <cassert>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::coroutine_handle<>> ready;
    bool is_closed = false;
    std::vector<std::thread> threads;

    void run()
    {
        for (;;) {
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [this] { return is_closed || !ready.empty(); });
            if (ready.empty())
                return;
            auto next = ready.front();
            ready.pop_front();
            held.unlock();
            next.resume();
        }
    }

    void post(std::coroutine_handle<> handle)
    {
        std::lock_guard<std::mutex> held(lock);
        ready.push_back(handle);
        changed.notify_one();
    }

public:
    explicit Pool(int count)
    {
        for (int i = 0; i < count; i++)
            threads.emplace_back([this] { run(); });
    }

    void close()
    {
        {
            std::lock_guard<std::mutex> held(lock);
            is_closed = true;
            changed.notify_all();
        }
        for (auto &thread : threads)
            thread.join();
    }

    struct Move {
        Pool &pool;
        int *moves;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle)
        {
            pool.post(handle);
            ++*moves;
        }
        void await_resume() const noexcept {}
    };

    Move move(int *moves) { return Move{*this, moves}; }
};

struct Job {
    struct promise_type {
        Job get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

static std::mutex total_lock;
static int total, done;
static std::condition_variable finished;

static Job add(Pool &pool, int amount)
{
    int moves = 0;
    co_await pool.move(&moves);
    int part = amount * 10;
    co_await pool.move(&moves);
    std::lock_guard<std::mutex> held(total_lock);
    total += part + moves;
    done++;
    finished.notify_one();
}

int main()
{
    Pool pool(2);
    add(pool, 1);
    add(pool, 2);
    {
        std::unique_lock<std::mutex> held(total_lock);
        finished.wait(held, [] { return done == 2; });
    }
    pool.close();
    assert(total == 34);
    return 0;
}
