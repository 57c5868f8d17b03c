// expect: none
// allow: atomicity
// A relaxed flag with fences on both sides. ThreadSanitizer does not understand fences.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_int ready;
static int message, copy;

static void *sender(void *unused)
{
    message = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return unused;
}

static void *receiver(void *unused)
{
    while (!atomic_load_explicit(&ready, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
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
