// expect: none
// A semaphore with one permit is a lock.
#include <semaphore.h>

#include "scenario.h"

static sem_t permits;
static int counter;

static void *add(void *unused)
{
    sem_wait(&permits);
    counter = counter + 1;
    sem_post(&permits);
    return unused;
}

int main(void)
{
    sem_init(&permits, 0, 1);
    pthread_t threads[] = {start(add, NULL), start(add, NULL), start(add, NULL)};

    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("counter %d\n", counter);
    return 0;
}
