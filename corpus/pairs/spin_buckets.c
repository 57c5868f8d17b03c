/* Correct: each bucket has its own spin lock, and every update of a bucket takes that one. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { BUCKETS = 2 };

static pthread_spinlock_t locks[BUCKETS];
static int buckets[BUCKETS];

static void add(int value)
{
    int bucket = value % BUCKETS;

    pthread_spin_lock(&locks[bucket]);
    buckets[bucket]++;
    pthread_spin_unlock(&locks[bucket]);
}

static void *count(void *values)
{
    for (int *value = values; *value != 0; value++)
        add(*value);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int samples[2][3] = {{1, 2, 0}, {2, 3, 0}};

    for (int i = 0; i < BUCKETS; i++)
        pthread_spin_init(&locks[i], PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, samples[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(buckets[0] == 2 && buckets[1] == 2);
    puts("2 even, 2 odd");
    return 0;
}
