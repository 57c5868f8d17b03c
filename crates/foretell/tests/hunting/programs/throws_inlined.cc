// Main takes a job before there is one: the function that throws becomes part of main.
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> jobs;

static void produce()
{
    std::lock_guard guard(lock);
    jobs.push_back(7);
}

static int take()
{
    std::lock_guard guard(lock);
    if (jobs.empty())
        throw std::runtime_error("no job");
    return jobs.back();
}

int main()
{
    std::thread producer(produce);
    int job = take();
    producer.join();
    return job != 7;
}
