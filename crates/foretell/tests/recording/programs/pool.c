// A pool: one large block, which is written over as a whole and of which parts are handed out. The callers' types are not the block's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    int id;
    int count;
    char data[];
} item;

static char *pool;
static size_t used;
static item *items[2];

static void *take(size_t size)
{
    if (!pool) {
        char *page = malloc(1 << 16);
        if (!page)
            abort();
        memset(page, 7, 1 << 16);
        pool = page;
    }
    void *part = pool + used;
    used += size;
    return part;
}

static void *work(void *unused)
{
    items[0]->count++;
    items[1]->count++;
    return unused;
}

int main(void)
{
    pthread_t worker;
    for (int i = 0; i < 2; i++) {
        item *new = take(1024);
        new->id = i;
        new->count = 0;
        items[i] = new;
    }
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    printf("%d\n", items[0]->count + items[1]->count);
    return 0;
}
