// expect: atomicity busy @ "while (atomic_load(&busy))" < "atomic_store(&busy, 1);" < "atomic_store(&busy, 1);"
// allow: atomicity
// A home-made spin lock that looks and takes in two steps. Every single access is atomic.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_int busy;
static int counter;

static void *add(void *argument)
{
    nap((int)(intptr_t)argument);
    while (atomic_load(&busy))
        sched_yield();
    atomic_store(&busy, 1);
    counter = counter + 1;
    atomic_store(&busy, 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(add, (void *)0), start(add, (void *)3)};

    finish(threads[0]);
    finish(threads[1]);
    printf("counter %d\n", counter);
    return 0;
}
