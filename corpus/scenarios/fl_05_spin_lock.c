// expect: none
// allow: atomicity
// A home-made spin lock that looks and takes in one step.
#include <sched.h>
#include <stdatomic.h>

#include "scenario.h"

static atomic_flag busy = ATOMIC_FLAG_INIT;
static int counter;

static void *add(void *unused)
{
    while (atomic_flag_test_and_set(&busy))
        sched_yield();
    counter = counter + 1;
    atomic_flag_clear(&busy);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(add, NULL), start(add, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("counter %d\n", counter);
    return 0;
}
