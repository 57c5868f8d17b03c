// expect: none
// allow: atomicity
// The first look is without the lock, but the pointer is atomic and set when all is ready.
#include <stdatomic.h>

#include "scenario.h"

struct table {
    int size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table storage;
static _Atomic(struct table *) table;
static int sizes[2];

static struct table *get(void)
{
    struct table *found = atomic_load_explicit(&table, memory_order_acquire);

    if (!found) {
        pthread_mutex_lock(&lock);
        found = atomic_load_explicit(&table, memory_order_relaxed);
        if (!found) {
            storage.size = 8;
            found = &storage;
            atomic_store_explicit(&table, found, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return found;
}

static void *user(void *argument)
{
    sizes[(intptr_t)argument] = get()->size;
    return NULL;
}

int main(void)
{
    pthread_t threads[] = {start(user, (void *)0), start(user, (void *)1)};

    finish(threads[0]);
    finish(threads[1]);
    printf("sizes %d %d\n", sizes[0], sizes[1]);
    return 0;
}
