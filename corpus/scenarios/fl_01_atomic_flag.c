// expect: none
// allow: atomicity
// A flag to spin on, atomic with release and acquire.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_int ready;
static int message, copy;

static void *sender(void *unused)
{
    message = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *receiver(void *unused)
{
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        sched_yield();
    copy = message;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(receiver, NULL), start(sender, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("copy %d\n", copy);
    return 0;
}
