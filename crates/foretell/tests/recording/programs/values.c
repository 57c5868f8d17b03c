#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 40 };

volatile long cell;
static long seen[THREADS + 1][2 * ROUNDS];

static void *work(void *arg)
{
    long thread = (long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        seen[thread][2 * i] = cell;
        cell = 1000 * thread + i + 1;
        seen[thread][2 * i + 1] = cell;
    }
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    for (int i = 1; i <= THREADS; i++) {
        printf("%d", i);
        for (int j = 0; j < 2 * ROUNDS; j++)
            printf(" %ld", seen[i][j]);
        printf("\n");
    }
    return 0;
}
