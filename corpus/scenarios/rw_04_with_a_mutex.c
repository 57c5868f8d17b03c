// expect: deadlock @ "pthread_mutex_lock(&journal); // reader" > "pthread_rwlock_wrlock(&table); // writer"
// A mutex and a reader-writer lock in opposite orders.
#include "scenario.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *reader(void *unused)
{
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&journal); // reader
    last = 1;
    pthread_mutex_unlock(&journal);
    pthread_rwlock_unlock(&table);
    return unused;
}

static void *writer(void *unused)
{
    nap(5);
    pthread_mutex_lock(&journal);
    pthread_rwlock_wrlock(&table); // writer
    last = 2;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&journal);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(reader, NULL), start(writer, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("last %d\n", last);
    return 0;
}
