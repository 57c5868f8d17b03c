// expect: deadlock @ "pthread_mutex_lock(&locks[(i + 1) % 3]);" > "pthread_mutex_lock(&locks[(i + 1) % 3]);" > "pthread_mutex_lock(&locks[(i + 1) % 3]);"
// Each of three takes its own lock and then the next one's.
#include "scenario.h"

static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int meals[3];

static void *eat(void *argument)
{
    int i = (int)(intptr_t)argument;

    nap(4 * i);
    pthread_mutex_lock(&locks[i]);
    pthread_mutex_lock(&locks[(i + 1) % 3]);
    meals[i] = 1;
    pthread_mutex_unlock(&locks[(i + 1) % 3]);
    pthread_mutex_unlock(&locks[i]);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];

    for (intptr_t i = 0; i < 3; i++)
        threads[i] = start(eat, (void *)i);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("meals %d\n", meals[0] + meals[1] + meals[2]);
    return 0;
}
