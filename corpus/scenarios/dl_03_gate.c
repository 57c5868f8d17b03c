// expect: none
// Opposite orders, but a third lock lets only one thread at a time get there.
#include "scenario.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sofa = PTHREAD_MUTEX_INITIALIZER, bowl = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *cat(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&sofa);
    pthread_mutex_lock(&bowl);
    last = 1;
    pthread_mutex_unlock(&bowl);
    pthread_mutex_unlock(&sofa);
    pthread_mutex_unlock(&gate);
    return unused;
}

static void *dog(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&bowl);
    pthread_mutex_lock(&sofa);
    last = 2;
    pthread_mutex_unlock(&sofa);
    pthread_mutex_unlock(&bowl);
    pthread_mutex_unlock(&gate);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(cat, NULL), start(dog, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("last %d\n", last);
    return 0;
}
