// expect: deadlock @ "sem_wait(&ink); // writer" > "sem_wait(&pen); // painter"
// Two semaphores with one permit each, taken in opposite orders.
#include <semaphore.h>

#include "scenario.h"

static sem_t pen, ink;
static int last;

static void *writer(void *unused)
{
    sem_wait(&pen);
    sem_wait(&ink); // writer
    last = 1;
    sem_post(&ink);
    sem_post(&pen);
    return unused;
}

static void *painter(void *unused)
{
    nap(5);
    sem_wait(&ink);
    sem_wait(&pen); // painter
    last = 2;
    sem_post(&pen);
    sem_post(&ink);
    return unused;
}

int main(void)
{
    sem_init(&pen, 0, 1);
    sem_init(&ink, 0, 1);
    pthread_t threads[] = {start(writer, NULL), start(painter, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("last %d\n", last);
    return 0;
}
