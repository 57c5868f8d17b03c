// expect: race results @ "results[i] = i + 1;" ~ "sum = results[0] + results[1];"
// Two workers are started, and the sum is taken when one of them has ended.
#include "scenario.h"

static int results[2];

static void *worker(void *argument)
{
    int i = (int)(intptr_t)argument;

    results[i] = i + 1;
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(worker, (void *)0), start(worker, (void *)1)};
    int sum;

    finish(threads[0]);
    nap(3);
    sum = results[0] + results[1];
    finish(threads[1]);
    printf("sum %d\n", sum);
    return 0;
}
