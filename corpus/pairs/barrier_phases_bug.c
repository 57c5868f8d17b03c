/* Wrong: each worker waits at the barrier before it writes its half, so the halves are read while the other
 * worker may still write. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_barrier_t barrier;
static int halves[2], sums[2];

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;

    pthread_barrier_wait(&barrier);
    halves[me] = 10 * (me + 1);
    sums[me] = halves[0] + halves[1];
    return NULL;
}

int main(void)
{
    pthread_t workers[2];

    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert(sums[0] == 30 && sums[1] == 30);
    puts("both sums are 30");
    return 0;
}
