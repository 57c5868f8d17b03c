// Correct: a Treiber stack of node indices; the head has a tag that every change counts up, so a node that
// was popped and pushed again in the meantime does not look unchanged.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>

struct Head {
    std::int32_t top;
    std::int32_t tag;
};

static constexpr int END = -1;
static std::atomic<int> next[2] = {1, END};
static std::atomic<int> owners[2];
static std::atomic<Head> head{Head{0, 0}};

static void push(int node)
{
    Head seen = head.load();
    do
        next[node] = seen.top;
    while (!head.compare_exchange_strong(seen, Head{node, seen.tag + 1}));
}

static int pop()
{
    Head seen = head.load();
    while (seen.top != END) {
        int below = next[seen.top];
        if (head.compare_exchange_strong(seen, Head{below, seen.tag + 1}))
            return seen.top;
    }
    return END;
}

static int take()
{
    int node = pop();
    if (node != END) {
        int owners_before = owners[node]++;
        assert(owners_before == 0);
    }
    return node;
}

static void give_back(int node)
{
    if (node != END) {
        owners[node]--;
        push(node);
    }
}

static void take_two()
{
    int first = take(), second = take();
    give_back(first);
    give_back(second);
}

int main()
{
    std::thread one(take_two), two([] { give_back(take()); });

    one.join();
    two.join();
    int first = take(), second = take(), third = take();
    assert(first != END && second != END && third == END);
    std::puts("both nodes are there");
}
