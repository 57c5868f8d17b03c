// Wrong: a Treiber stack without a tag: between a thread's look at the top and its compare-and-swap, another
// can pop both nodes and push the first one again (ABA), and the second node, now owned by that thread,
// becomes the top.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

static constexpr int END = -1;
static std::atomic<int> next[2] = {1, END};
static std::atomic<int> owners[2];
static std::atomic<int> head{0};

static void push(int node)
{
    int seen = head.load();
    do
        next[node] = seen;
    while (!head.compare_exchange_strong(seen, node));
}

static int pop()
{
    int seen = head.load();
    while (seen != END) {
        int below = next[seen];
        if (head.compare_exchange_strong(seen, below))
            return seen;
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
