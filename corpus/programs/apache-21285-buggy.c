/* Reconstruction, modelled on Apache bug 21285: mod_mem_cache inserts an object into the cache before its size is
 * known. A thread that evicts it meanwhile takes the wrong size off the total. */
#include <pthread.h>
#include <stdio.h>

struct object {
    int size;
    int complete;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object entry;
static struct object *cached;
static int total;

static void *store(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&cache_lock);
    cached = &entry;
    total += 100;
    pthread_mutex_unlock(&cache_lock);
    entry.size = 100;
    entry.complete = 1;
    return NULL;
}

static void *evict(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&cache_lock);
    if (cached != NULL) {
        total -= entry.size;
        if (!entry.complete)
            puts("an unfinished object is thrown away");
        cached = NULL;
    }
    pthread_mutex_unlock(&cache_lock);
    return NULL;
}

int main(void)
{
    pthread_t first, second;

    pthread_create(&first, NULL, store, NULL);
    pthread_create(&second, NULL, evict, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%d bytes in the cache\n", total);
    return 0;
}
