// Wrong: the new node is linked by a store after a check, so two threads can link theirs to the same node and
// one is lost.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

struct Node {
    int value = 0;
    std::atomic<Node *> next{nullptr};
};

static Node nodes[3]; // nodes[0] is the dummy
static std::atomic<Node *> head{&nodes[0]}, tail{&nodes[0]};

static void enqueue(Node *node, int value)
{
    node->value = value;
    while (true) {
        Node *last = tail.load();
        Node *next = last->next.load();
        if (next != nullptr) {
            tail.compare_exchange_strong(last, next); // help whoever linked it
        } else {
            last->next.store(node);
            tail.compare_exchange_strong(last, node);
            return;
        }
    }
}

static bool dequeue(int &value)
{
    while (true) {
        Node *first = head.load();
        Node *next = first->next.load();
        if (next == nullptr)
            return false;
        if (head.compare_exchange_strong(first, next)) {
            value = next->value;
            return true;
        }
    }
}

int main()
{
    std::thread one(enqueue, &nodes[1], 3), two(enqueue, &nodes[2], 4);

    one.join();
    two.join();
    int first = 0, second = 0;
    bool both = dequeue(first) && dequeue(second);
    assert(both && first + second == 7);
    std::puts("both values came out");
}
