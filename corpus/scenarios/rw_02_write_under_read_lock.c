// expect: race hits @ "hits = hits + 1;" ~ "hits = hits + 1;"
// Readers count their visits, each with the lock for reading only.
#include "scenario.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int hits;

static void *reader(void *argument)
{
    nap((int)(intptr_t)argument);
    pthread_rwlock_rdlock(&lock);
    hits = hits + 1;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(reader, (void *)0), start(reader, (void *)3)};

    finish(threads[0]);
    finish(threads[1]);
    printf("hits %d\n", hits);
    return 0;
}
