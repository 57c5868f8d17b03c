// expect: none
// The one the barrier picks adds up, and a second round of the barrier publishes the sum.
#include "scenario.h"

#define WORKERS 3

static pthread_barrier_t barrier;
static int cells[WORKERS], total, shares[WORKERS];

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    cells[i] = i + 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        total = cells[0] + cells[1] + cells[2];
    pthread_barrier_wait(&barrier);
    shares[i] = total / WORKERS;
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
    printf("shares %d %d %d\n", shares[0], shares[1], shares[2]);
    return 0;
}
