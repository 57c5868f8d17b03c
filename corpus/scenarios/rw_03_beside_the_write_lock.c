// expect: race path @ "path = 7;" ~ "seen = path;"
// The writer's section and the reader's, of the same lock, seem to order what is outside both.
#include "scenario.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int path, seen, last, limit = 3, allowed;

static void *configure(void *unused)
{
    path = 7;
    pthread_rwlock_wrlock(&lock);
    last = 1;
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *serve(void *unused)
{
    nap(3);
    pthread_rwlock_rdlock(&lock);
    allowed = limit;
    pthread_rwlock_unlock(&lock);
    seen = path;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(configure, NULL), start(serve, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d of %d, last %d\n", seen, allowed, last);
    return 0;
}
