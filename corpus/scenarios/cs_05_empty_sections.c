// expect: race position @ "position = 5;" ~ "seen = position;"
// Taking and giving back a lock around nothing orders nothing.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int position, seen;

static void touch(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void *mover(void *unused)
{
    position = 5;
    touch();
    return unused;
}

static void *watcher(void *unused)
{
    nap(2);
    touch();
    seen = position;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(mover, NULL), start(watcher, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d\n", seen);
    return 0;
}
