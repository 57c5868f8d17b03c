// expect: race cells @ "sums[i] = cells[(i + 1) % WORKERS];" ~ "cells[i] = 0;"
// Nobody waits for the neighbour to have read before clearing the cell.
#include "scenario.h"

#define WORKERS 2

static pthread_barrier_t barrier;
static int cells[WORKERS], sums[WORKERS];

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    pthread_barrier_wait(&barrier);
    sums[i] = cells[(i + 1) % WORKERS];
    nap(2);
    cells[i] = 0;
    return NULL;
}

int main(void)
{
    pthread_t threads[WORKERS];

    pthread_barrier_init(&barrier, NULL, WORKERS);
    for (intptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        finish(threads[i]);
    printf("sums %d %d, cells %d %d\n", sums[0], sums[1], cells[0], cells[1]);
    return 0;
}
