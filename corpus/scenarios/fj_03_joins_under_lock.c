// expect: deadlock @ "pthread_join(thread, NULL);" > "pthread_mutex_lock(&lock); // child"
// Main waits for the child with the lock that the child needs.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *child(void *unused)
{
    pthread_mutex_lock(&lock); // child
    last = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread = start(child, NULL);

    nap(20);
    pthread_mutex_lock(&lock);
    last = 2;
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&lock);
    printf("last %d\n", last);
    return 0;
}
