// Correct: std::call_once returns only when the table is complete, and one thread fills it.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

static std::once_flag filled;
static int table[2];

static void fill()
{
    table[0] = 1;
    table[1] = 4;
}

static void use()
{
    std::call_once(filled, fill);
    assert(table[0] + table[1] == 5);
}

int main()
{
    std::thread first(use), second(use);

    first.join();
    second.join();
    std::printf("table %d %d\n", table[0], table[1]);
}
