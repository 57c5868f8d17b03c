// expect: none
// allow: atomicity
// Peterson's lock for two threads, of three atomic flags.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_int wants[2], turn;
static int counter;

static void *add(void *argument)
{
    int me = (int)(intptr_t)argument, other = 1 - me;

    atomic_store(&wants[me], 1);
    atomic_store(&turn, other);
    while (atomic_load(&wants[other]) && atomic_load(&turn) == other)
        sched_yield();
    counter = counter + 1;
    atomic_store(&wants[me], 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(add, (void *)0), start(add, (void *)1)};

    finish(threads[0]);
    finish(threads[1]);
    printf("counter %d\n", counter);
    return 0;
}
