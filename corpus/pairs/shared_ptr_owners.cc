// Correct: each thread has a copy of its own of the shared_ptr; the last one to go destroys the document.
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

static void print(std::shared_ptr<Document> document)
{
    assert(document->pages == 12);
}

int main()
{
    auto document = std::make_shared<Document>();
    std::thread first(print, document), second(print, document);

    document.reset();
    first.join();
    second.join();
    assert(destroyed == 1);
    std::puts("destroyed once");
}
