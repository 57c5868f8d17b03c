// Threads add to a std::map and a std::list under a lock. The library links nodes in code that is not recorded, so the recording does not say
// how a thread came to know a node.
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::map<std::string, int> entries;
static std::list<int> latest;
static std::mutex lock;

static void add(int number) {
    std::lock_guard<std::mutex> guard(lock);
    entries["entry " + std::to_string(number)] = number;
    latest.push_back(number);
    if (latest.size() > 2)
        latest.pop_front();
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([i] { add(i); });
    for (auto &thread : threads)
        thread.join();
    assert(entries.size() == 3 && latest.size() == 2);
}
