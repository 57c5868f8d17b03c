// expect: race detail @ "detail = 7;" ~ "seen = detail;"
// allow: atomicity
// The producer announces the item before all of it is there.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int detail, ready, seen, last;

static void *producer(void *unused)
{
    nap(2);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    detail = 7;
    pthread_mutex_lock(&lock);
    last = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *consumer(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&filled, &lock);
    pthread_mutex_unlock(&lock);
    nap(2);
    pthread_mutex_lock(&lock);
    last = 2;
    pthread_mutex_unlock(&lock);
    seen = detail;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(consumer, NULL), start(producer, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d, last %d\n", seen, last);
    return 0;
}
