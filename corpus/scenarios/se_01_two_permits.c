// expect: race counter @ "counter = counter + 1;" ~ "counter = counter + 1;"
// A semaphore as a lock, but with two permits.
#include <semaphore.h>

#include "scenario.h"

static sem_t permits;
static int counter;

static void *add(void *argument)
{
    nap((int)(intptr_t)argument);
    sem_wait(&permits);
    counter = counter + 1;
    sem_post(&permits);
    return NULL;
}

int main(void)
{
    sem_init(&permits, 0, 2);
    pthread_t threads[] = {start(add, (void *)0), start(add, (void *)3)};

    finish(threads[0]);
    finish(threads[1]);
    printf("counter %d\n", counter);
    return 0;
}
