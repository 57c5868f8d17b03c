// Correct: std::scoped_lock takes both mutexes without a deadlock, in any order.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex left_lock, right_lock;
static int left = 10, right = 20;

static void move_right()
{
    std::scoped_lock both(left_lock, right_lock);
    left -= 1;
    right += 1;
}

static void move_left()
{
    std::scoped_lock both(right_lock, left_lock);
    right -= 2;
    left += 2;
}

int main()
{
    std::thread first(move_right), second(move_left);

    first.join();
    second.join();
    assert(left == 11 && right == 19);
    std::printf("left %d, right %d\n", left, right);
}
