// expect: race cells @ "cells[i] = i + 1;" ~ "sums[i] = cells[(i + 1) % WORKERS];"
// Four workers, but the barrier lets every two of them pass.
#include "scenario.h"

#define WORKERS 4

static pthread_barrier_t barrier;
static int cells[WORKERS], sums[WORKERS];

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    pthread_barrier_wait(&barrier);
    nap(5);
    sums[i] = cells[(i + 1) % WORKERS];
    return NULL;
}

int main(void)
{
    pthread_t threads[WORKERS];

    pthread_barrier_init(&barrier, NULL, WORKERS / 2);
    for (intptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        finish(threads[i]);
    printf("sums %d %d %d %d\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
