// expect: none
// A lock for each bucket, and both threads take the right one.
#include "scenario.h"

#define BUCKETS 2

static pthread_mutex_t locks[BUCKETS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int buckets[BUCKETS];

static void *count(void *unused)
{
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_lock(&locks[i]);
        buckets[i] += i + 1;
        pthread_mutex_unlock(&locks[i]);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(count, NULL), start(count, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("buckets %d %d\n", buckets[0], buckets[1]);
    return 0;
}
