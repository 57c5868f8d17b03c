// expect: none
// One semaphore counts what is in the queue; slot n is read after n + 1 posts, which follow its write.
#include <semaphore.h>

#include "scenario.h"

#define ITEMS 4

static sem_t filled;
static int slots[ITEMS], sum;

static void *producer(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        slots[i] = i + 1;
        sem_post(&filled);
    }
    return unused;
}

static void *consumer(void *unused)
{
    int local = 0;

    for (int i = 0; i < ITEMS; i++) {
        sem_wait(&filled);
        local += slots[i];
    }
    sum = local;
    return unused;
}

int main(void)
{
    sem_init(&filled, 0, 0);
    pthread_t threads[] = {start(producer, NULL), start(consumer, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("sum %d\n", sum);
    return 0;
}
