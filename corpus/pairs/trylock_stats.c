/* Correct: a thread that does not get the lock counts its event in a local variable and adds it later. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int events;

static void *record(void *unused)
{
    int pending = 1;

    if (pthread_mutex_trylock(&lock) == 0) {
        events += pending;
        pending = 0;
        pthread_mutex_unlock(&lock);
    }
    if (pending > 0) {
        pthread_mutex_lock(&lock);
        events += pending;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, record, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(events == 2);
    printf("events %d\n", events);
    return 0;
}
