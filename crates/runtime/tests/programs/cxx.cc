// C++: std::thread, std::mutex, condition variables, atomics, static guards, call_once, exceptions, new and delete.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
std::mutex lock;
std::shared_mutex shared;
std::condition_variable ready;
std::atomic<int> counter{0};
std::once_flag flag;
int made, total, onces;
bool go;
struct Slow { Slow() { made++; for (volatile int i = 0; i < 500; i++) ; } };
Slow &instance() { static Slow it; return it; }
thread_local std::unique_ptr<std::string> name;
void thrower(int n) { if (n == 0) throw std::runtime_error("deep"); thrower(n - 1); }
void run(int n) {
    name = std::make_unique<std::string>("a rather long name for a thread " + std::to_string(n));
    {
        std::unique_lock<std::mutex> hold(lock);
        ready.wait(hold, [] { return go; });
        total += name->size() > 10;
    }
    instance();
    std::call_once(flag, [] { onces++; });
    { std::shared_lock<std::shared_mutex> hold(shared); counter.fetch_add(1); }
    { std::unique_lock<std::shared_mutex> hold(shared); counter++; }
    try { thrower(5); } catch (std::exception &) { counter += 10; }
}
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(run, i);
    { std::lock_guard<std::mutex> hold(lock); go = true; ready.notify_all(); }
    for (auto &thread : threads) thread.join();
    std::printf("%d %d %d %d\n", counter.load(), made, total, onces);
}
