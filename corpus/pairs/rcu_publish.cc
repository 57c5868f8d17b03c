// Correct: a new version is written in full before its pointer is published with release; readers load it
// with acquire. Old versions are kept until the readers have been joined.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

struct Version {
    int width, height;
};

static Version versions[2] = {{1, 1}, {0, 0}};
static std::atomic<Version *> current{&versions[0]};

static void publish()
{
    Version *next = &versions[1];
    next->width = 5;
    next->height = 5;
    current.store(next, std::memory_order_release);
}

static void check()
{
    const Version *version = current.load(std::memory_order_acquire);
    assert(version->width == version->height);
}

int main()
{
    std::thread reader(check), writer(publish);

    reader.join();
    writer.join();
    std::printf("width %d\n", current.load()->width);
}
