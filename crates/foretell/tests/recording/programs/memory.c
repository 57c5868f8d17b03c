#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pair { volatile long a, b; };
char copied[64];
static const int constant[4] = {1, 2, 3, 4};

static void *work(void *arg)
{
    struct pair *pair = arg;
    long *private = malloc(16 * sizeof *private);
    for (int i = 0; i < 16; i++)
        private[i] = constant[i % 4];
    pair->b = private[3];
    free(private);
    memset(copied, 1, sizeof copied);
    free(pair);
    return 0;
}

static void *flip(void *arg)
{
    *(volatile int *)arg = 1;
    return 0;
}

int main(void)
{
    pthread_t worker;
    volatile int local = 0;
    char other[64];
    struct pair *pair = malloc(sizeof *pair);
    pair->a = pair->b = 0;
    pthread_create(&worker, 0, work, pair);
    pthread_join(worker, 0);
    memcpy(other, copied, sizeof other);
    pthread_create(&worker, 0, flip, (void *)&local);
    pthread_join(worker, 0);
    return other[5] != 1 || local != 1 || constant[1] != 2;
}
