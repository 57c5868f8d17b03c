/* A race in `racy`, a table behind a lock, and a flag that the reader waits for. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[64];
static int handed_over;
static atomic_int ready;
static int racy;

static void fill(int value)
{
    for (int round = 0; round < 4; round++) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < 64; i++)
            table[i] += value;
        pthread_mutex_unlock(&lock);
    }
}

static void publish(void)
{
    handed_over = 7;
    atomic_store(&ready, 1);
}

static int await(void)
{
    while (!atomic_load(&ready))
        ;
    return handed_over;
}

static void touch(void)
{
    racy++;
    racy++;
}

static void *work(void *arg)
{
    touch();
    fill(1);
    publish();
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    touch();
    fill(2);
    int seen = await();
    pthread_join(worker, 0);
    printf("%d %d\n", table[5], seen);
    return 0;
}
