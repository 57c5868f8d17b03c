// expect: none
// Opposite orders, but the first thread has ended before the second starts.
#include "scenario.h"

static pthread_mutex_t sofa = PTHREAD_MUTEX_INITIALIZER, bowl = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *cat(void *unused)
{
    pthread_mutex_lock(&sofa);
    pthread_mutex_lock(&bowl);
    last = 1;
    pthread_mutex_unlock(&bowl);
    pthread_mutex_unlock(&sofa);
    return unused;
}

static void *dog(void *unused)
{
    pthread_mutex_lock(&bowl);
    pthread_mutex_lock(&sofa);
    last = 2;
    pthread_mutex_unlock(&sofa);
    pthread_mutex_unlock(&bowl);
    return unused;
}

int main(void)
{
    finish(start(cat, NULL));
    finish(start(dog, NULL));
    printf("last %d\n", last);
    return 0;
}
