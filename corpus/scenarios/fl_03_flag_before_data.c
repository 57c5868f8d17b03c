// expect: race message @ "message = 42;" ~ "copy = message;"
// allow: atomicity
// The flag goes up before the message is there.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_int ready;
static int message, copy;

static void *sender(void *unused)
{
    atomic_store(&ready, 1);
    message = 42;
    return unused;
}

static void *receiver(void *unused)
{
    nap(2);
    while (!atomic_load(&ready))
        sched_yield();
    copy = message;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(sender, NULL), start(receiver, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("copy %d\n", copy);
    return 0;
}
