// A hash map of chains with a lock for each stripe of buckets. hashmap OPERATIONS THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 4096, STRIPES = 64, KEYS = 16384 };

struct entry {
    unsigned key, value;
    struct entry *next;
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES];
static int operations;

static void add(unsigned key)
{
    unsigned bucket = key * 2654435761u >> 20;
    pthread_mutex_t *lock = &stripes[bucket % STRIPES];
    struct entry *entry;

    pthread_mutex_lock(lock);
    for (entry = buckets[bucket]; entry && entry->key != key; entry = entry->next)
        ;
    if (!entry) {
        entry = malloc(sizeof *entry);
        entry->key = key;
        entry->value = 0;
        entry->next = buckets[bucket];
        buckets[bucket] = entry;
    }
    entry->value++;
    pthread_mutex_unlock(lock);
}

static void *work(void *seed)
{
    unsigned state = (unsigned)(long)seed * 747796405u + 1;

    for (int i = 0; i < operations; i++) {
        state = state * 1664525u + 1013904223u;
        add(state >> 8 & (KEYS - 1));
    }
    return NULL;
}

int main(int count, char **arguments)
{
    operations = count > 1 ? atoi(arguments[1]) : 100000;
    int threads = count > 2 ? atoi(arguments[2]) : 4;
    pthread_t *workers = malloc(sizeof *workers * threads);
    unsigned long sum = 0;

    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    for (long i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next)
            sum += entry->value;
    printf("%lu\n", sum);
    return 0;
}
