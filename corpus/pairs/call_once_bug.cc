// Wrong: a plain flag stands for std::call_once, so one thread can see it set while the other still fills the
// table.
#include <cassert>
#include <cstdio>
#include <thread>

static bool filled = false;
static int table[2];

static void fill()
{
    table[0] = 1;
    table[1] = 4;
}

static void use()
{
    if (!filled) {
        filled = true;
        fill();
    }
    assert(table[0] + table[1] == 5);
}

int main()
{
    std::thread first(use), second(use);

    first.join();
    second.join();
    std::printf("table %d %d\n", table[0], table[1]);
}
