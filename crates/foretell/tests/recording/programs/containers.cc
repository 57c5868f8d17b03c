// A map and a list under one lock: whoever finds a node comes before who removes it.
#include <map>
#include <list>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static std::map<std::string, int> endpoints;
static std::list<int> waiting;

static void enter(const std::string &name, int value)
{
    std::lock_guard<std::mutex> hold(lock);
    endpoints[name] = value;
    waiting.push_back(value);
}

static void leave(int value)
{
    std::lock_guard<std::mutex> hold(lock);
    for (auto it = endpoints.begin(); it != endpoints.end();) {
        if (it->second == value)
            it = endpoints.erase(it);
        else
            ++it;
    }
    waiting.remove(value);
}

static int find(const std::string &name)
{
    std::lock_guard<std::mutex> hold(lock);
    auto it = endpoints.find(name);
    return it == endpoints.end() ? 0 : it->second;
}

int main()
{
    auto work = [](int base) {
        for (int i = 0; i < 3; i++) {
            enter("e" + std::to_string(base + i), base + i);
            find("e" + std::to_string(4 - base));
        }
        for (int i = 0; i < 3; i++)
            leave(base + i);
    };
    std::thread one(work, 1), two(work, 10);
    one.join();
    two.join();
    return endpoints.size() + waiting.size();
}
