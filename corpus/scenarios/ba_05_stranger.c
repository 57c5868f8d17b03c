// expect: race cells @ "cells[i] = i + 1;" ~ "seen = cells[0];"
// A thread that does not take part in the barrier looks at the cells; the log's lock hides it.
#include "scenario.h"

#define WORKERS 2

static pthread_barrier_t barrier;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int cells[WORKERS], sums[WORKERS], seen, last;

static void note(int what)
{
    pthread_mutex_lock(&log_lock);
    last = what;
    pthread_mutex_unlock(&log_lock);
}

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    pthread_barrier_wait(&barrier);
    sums[i] = cells[(i + 1) % WORKERS];
    note(i);
    return NULL;
}

static void *stranger(void *unused)
{
    nap(5);
    note(WORKERS);
    seen = cells[0];
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS + 1];

    pthread_barrier_init(&barrier, NULL, WORKERS);
    threads[WORKERS] = start(stranger, NULL);
    for (intptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i <= WORKERS; i++)
        finish(threads[i]);
    printf("sums %d %d, seen %d, last %d\n", sums[0], sums[1], seen, last);
    return 0;
}
