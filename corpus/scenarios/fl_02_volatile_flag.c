// expect: race stop @ "stop = 1;" ~ "while (!stop)"
// allow: atomicity
// A flag to spin on that is merely volatile.
#include <sched.h>

#include "scenario.h"

static volatile int stop;

static void *engine(void *unused)
{
    while (!stop)
        sched_yield();
    return unused;
}

int main(void)
{
    pthread_t thread = start(engine, NULL);

    nap(1);
    stop = 1;
    finish(thread);
    puts("stopped");
    return 0;
}
