// expect: none
// allow: atomicity
// Three wait for one starting signal.
#include "scenario.h"

#define RUNNERS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t shot = PTHREAD_COND_INITIALIZER;
static int distance, started, runs[RUNNERS];

static void *runner(void *argument)
{
    int lane = (int)(intptr_t)argument;

    pthread_mutex_lock(&lock);
    while (!started)
        pthread_cond_wait(&shot, &lock);
    pthread_mutex_unlock(&lock);
    runs[lane] = distance;
    return NULL;
}

int main(void)
{
    pthread_t threads[RUNNERS];

    for (intptr_t lane = 0; lane < RUNNERS; lane++)
        threads[lane] = start(runner, (void *)lane);
    nap(2);
    distance = 100;
    pthread_mutex_lock(&lock);
    started = 1;
    pthread_cond_broadcast(&shot);
    pthread_mutex_unlock(&lock);
    for (int lane = 0; lane < RUNNERS; lane++)
        finish(threads[lane]);
    printf("%d metres run\n", runs[0] + runs[1] + runs[2]);
    return 0;
}
