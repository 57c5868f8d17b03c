// A thread throws, and nobody catches.
#include <stdexcept>
#include <thread>

int main()
{
    std::thread worker([] { throw std::runtime_error("no more paper"); });
    worker.join();
}
