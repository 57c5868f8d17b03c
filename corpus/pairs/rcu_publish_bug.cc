// Wrong: the pointer is published with memory_order_relaxed, which orders nothing: the reads of the new
// version race with its writes. Every interleaving reads equal numbers; on hardware with weak memory a reader
// can see the old ones.
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
    current.store(next, std::memory_order_relaxed);
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
