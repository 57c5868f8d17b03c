/* Reconstruction, modelled on Apache bug 21285: mod_mem_cache inserts an object into the cache before its size is
 * known. A thread that evicts it meanwhile takes the wrong size off the total. */
#include <pthread.h>
#include <stdio.h>

struct object {
    int key, type, status;
    int date, expire, lastmod;
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
    entry.key = 1;
    entry.type = 2;
    entry.status = 200;
    entry.date = 10;
    entry.expire = 20;
    entry.lastmod = 5;
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
        printf("object %d of type %d, status %d: ", entry.key, entry.type, entry.status);
        printf("of %d until %d, modified %d\n", entry.date, entry.expire, entry.lastmod);
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
