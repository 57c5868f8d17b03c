// Producers and consumers at a ring of blocks; each block is filled by one and added up by the other. queue BLOCKS THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 16, LENGTH = 512 };

static unsigned ring[SLOTS][LENGTH];
static int head, tail, filled, produced, consumed, blocks;
static unsigned long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static void *produce(void *unused)
{
    unsigned own[LENGTH];

    for (;;) {
        pthread_mutex_lock(&lock);
        int number = produced++;
        pthread_mutex_unlock(&lock);
        if (number >= blocks)
            return unused;
        for (int i = 0; i < LENGTH; i++)
            own[i] = (unsigned)number * 31u + (unsigned)i;
        pthread_mutex_lock(&lock);
        while (filled == SLOTS)
            pthread_cond_wait(&not_full, &lock);
        for (int i = 0; i < LENGTH; i++)
            ring[head][i] = own[i];
        head = (head + 1) % SLOTS;
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
}

static void *consume(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        if (consumed++ >= blocks) {
            pthread_mutex_unlock(&lock);
            return unused;
        }
        while (filled == 0)
            pthread_cond_wait(&not_empty, &lock);
        for (int i = 0; i < LENGTH; i++)
            total += ring[tail][i];
        tail = (tail + 1) % SLOTS;
        filled--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
}

int main(int count, char **arguments)
{
    blocks = count > 1 ? atoi(arguments[1]) : 10000;
    int pairs = (count > 2 ? atoi(arguments[2]) : 4) / 2;
    pthread_t *workers = malloc(sizeof *workers * pairs * 2);

    for (int i = 0; i < pairs; i++) {
        pthread_create(&workers[2 * i], NULL, produce, NULL);
        pthread_create(&workers[2 * i + 1], NULL, consume, NULL);
    }
    for (int i = 0; i < 2 * pairs; i++)
        pthread_join(workers[i], NULL);
    printf("%lu\n", total);
    return 0;
}
