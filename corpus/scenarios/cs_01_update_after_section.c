// expect: race progress @ "progress = 1;" ~ "progress = 2;"
// Paper 3's listing 1: if main's section comes first, it seems to order main's update before the task's.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int progress, last;

static void *task(void *unused)
{
    nap(2);
    pthread_mutex_lock(&lock);
    last = 2;
    pthread_mutex_unlock(&lock);
    progress = 2;
    return unused;
}

int main(void)
{
    pthread_t thread = start(task, NULL);

    progress = 1;
    pthread_mutex_lock(&lock);
    last = 1;
    pthread_mutex_unlock(&lock);
    finish(thread);
    printf("progress %d, last %d\n", progress, last);
    return 0;
}
