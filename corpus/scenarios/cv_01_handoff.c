// expect: none
// allow: atomicity
// One item, handed over with a condition variable as the book says.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int item, ready, taken;

static void *producer(void *unused)
{
    nap(2);
    item = 42;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *consumer(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&filled, &lock);
    pthread_mutex_unlock(&lock);
    taken = item;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(consumer, NULL), start(producer, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("taken %d\n", taken);
    return 0;
}
