/* Reconstruction, modelled on Apache bug 21285: mod_mem_cache inserts an object with a default size and, when the size is known, removes
 * it and inserts it again. Fixed by removing it only if it is still there, and by accessing the fields that tell
 * of this with the lock held. */
#include <pthread.h>
#include <stdio.h>

struct object {
    int key, type;
    int date, expire, lastmod;
    int size;
    int complete, cleanup;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object entry;
static struct object *cached;
static int total;

static void *store(void *unused)
{
    (void)unused;
    entry.key = 1;
    entry.type = 2;
    entry.date = 10;
    entry.expire = 20;
    entry.lastmod = 5;
    entry.size = 10;
    pthread_mutex_lock(&cache_lock);
    cached = &entry;
    total += entry.size;
    pthread_mutex_unlock(&cache_lock);

    pthread_mutex_lock(&cache_lock);
    if (cached != NULL) {
        total -= entry.size;
        entry.size = 100;
        cached = &entry;
        total += entry.size;
    }
    entry.complete = 1;
    if (entry.cleanup)
        puts("the object was evicted");
    pthread_mutex_unlock(&cache_lock);
    return NULL;
}

static void *evict(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&cache_lock);
    if (cached != NULL) {
        printf("object %d of type %d, ", entry.key, entry.type);
        printf("of %d until %d, modified %d\n", entry.date, entry.expire, entry.lastmod);
        total -= entry.size;
        if (!entry.complete)
            puts("an unfinished object is thrown away");
        entry.cleanup = 1;
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
