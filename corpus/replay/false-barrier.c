// expect: none
// possible: race cells @ "cells[i] = i + 1;" ~ "sums[i] = cells[1 - i];"
// allow: atomicity
// Paper 3's fft case, as far as it tells: two phases with a home-made barrier between them. The count that both poll orders the phases; its lock does not.
#include "../scenarios/scenario.h"

#define WORKERS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int arrived, cells[WORKERS], sums[WORKERS];

static void arrive(void)
{
    pthread_mutex_lock(&lock);
    arrived = arrived + 1;
    pthread_mutex_unlock(&lock);
}

static int is_complete(void)
{
    pthread_mutex_lock(&lock);
    int complete = arrived == WORKERS;
    pthread_mutex_unlock(&lock);
    return complete;
}

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    arrive();
    while (!is_complete())
        nap(1);
    sums[i] = cells[1 - i];
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(work, (void *)0), start(work, (void *)1)};

    finish(threads[0]);
    finish(threads[1]);
    printf("sums %d %d\n", sums[0], sums[1]);
    return sums[0] == 2 && sums[1] == 1 ? 0 : 1;
}
