/* A library that is not instrumented and hands over by a futex of its own. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static int full;

void hand_over(void)
{
    __atomic_store_n(&full, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &full, FUTEX_WAKE, 1, 0, 0, 0);
}

void take_over(void)
{
    while (!__atomic_load_n(&full, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &full, FUTEX_WAIT, 0, 0, 0, 0);
}
