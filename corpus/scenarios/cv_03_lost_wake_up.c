// expect: deadlock @ "pthread_cond_wait(&rung, &lock);"
// allow: atomicity
// The bell rings without the lock, so it can ring between the sleeper's look and its sleep.
#include <stdatomic.h>

#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rung = PTHREAD_COND_INITIALIZER;
static atomic_int morning;

static void *sleeper(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!atomic_load(&morning))
        pthread_cond_wait(&rung, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *bell(void *unused)
{
    nap(20);
    atomic_store(&morning, 1);
    pthread_cond_signal(&rung);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(sleeper, NULL), start(bell, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    puts("awake");
    return 0;
}
