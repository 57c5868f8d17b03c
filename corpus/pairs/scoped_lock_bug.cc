// Wrong: the mutexes are locked one after the other in opposite orders, so the threads can wait for each
// other forever.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex left_lock, right_lock;
static int left = 10, right = 20;

static void move_right()
{
    std::lock_guard first(left_lock);
    std::lock_guard second(right_lock);
    left -= 1;
    right += 1;
}

static void move_left()
{
    std::lock_guard first(right_lock);
    std::lock_guard second(left_lock);
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
