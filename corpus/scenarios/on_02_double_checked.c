// expect: race table @ "if (!table) // without the lock" ~ "table = &defaults;"
// allow: atomicity
// The first look at the pointer is without the lock.
#include "scenario.h"

struct table {
    int size;
};

static const struct table defaults = {8};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct table *volatile table;

static void *user(void *argument)
{
    nap((int)(intptr_t)argument);
    if (!table) // without the lock
    {
        pthread_mutex_lock(&lock);
        if (!table)
            table = &defaults;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(user, (void *)0), start(user, (void *)3)};

    finish(threads[0]);
    finish(threads[1]);
    printf("size %d\n", table->size);
    return 0;
}
