// expect: none
// Everyone writes a cell, everyone arrives, everyone reads the neighbour's.
#include "scenario.h"

#define WORKERS 3

static pthread_barrier_t barrier;
static int cells[WORKERS], sums[WORKERS];

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    pthread_barrier_wait(&barrier);
    sums[i] = cells[i] + cells[(i + 1) % WORKERS];
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
    printf("sums %d %d %d\n", sums[0], sums[1], sums[2]);
    return 0;
}
