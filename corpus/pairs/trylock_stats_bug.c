/* Wrong: the result of pthread_mutex_trylock is ignored, so a thread that did not get the lock updates the
 * count anyway. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int events;

static void *record(void *unused)
{
    pthread_mutex_trylock(&lock);
    events += 1;
    pthread_mutex_unlock(&lock);
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
