// expect: race item @ "item = 42;" ~ "taken = item;"
// The producer posts, then fills in the item; what it posts for the log afterwards hides it.
#include <semaphore.h>

#include "scenario.h"

static sem_t filled, logged;
static int item, taken;

static void *producer(void *unused)
{
    sem_post(&filled);
    item = 42;
    sem_post(&logged);
    return unused;
}

static void *consumer(void *unused)
{
    nap(2);
    sem_wait(&filled);
    sem_post(&logged);
    sem_wait(&logged);
    taken = item;
    return unused;
}

int main(void)
{
    sem_init(&filled, 0, 0);
    sem_init(&logged, 0, 0);
    pthread_t threads[] = {start(producer, NULL), start(consumer, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("taken %d\n", taken);
    return 0;
}
