// Wrong: the threads get a plain pointer, so main's reset destroys the document while they may still read it.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <memory>
#include <thread>

static std::atomic<int> destroyed{0};

struct Document {
    int pages = 12;
    ~Document() { destroyed++; }
};

static void print(Document *document)
{
    assert(document->pages == 12);
}

int main()
{
    auto document = std::make_shared<Document>();
    std::thread first(print, document.get()), second(print, document.get());

    document.reset();
    first.join();
    second.join();
    assert(destroyed == 1);
    std::puts("destroyed once");
}
