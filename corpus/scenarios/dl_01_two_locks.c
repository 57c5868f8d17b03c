// expect: deadlock @ "pthread_mutex_lock(&bowl); // cat" > "pthread_mutex_lock(&sofa); // dog"
// Two locks in opposite orders.
#include "scenario.h"

static pthread_mutex_t sofa = PTHREAD_MUTEX_INITIALIZER, bowl = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *cat(void *unused)
{
    pthread_mutex_lock(&sofa);
    pthread_mutex_lock(&bowl); // cat
    last = 1;
    pthread_mutex_unlock(&bowl);
    pthread_mutex_unlock(&sofa);
    return unused;
}

static void *dog(void *unused)
{
    nap(5);
    pthread_mutex_lock(&bowl);
    pthread_mutex_lock(&sofa); // dog
    last = 2;
    pthread_mutex_unlock(&sofa);
    pthread_mutex_unlock(&bowl);
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
