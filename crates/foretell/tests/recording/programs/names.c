// Memory of every kind that a report has a name for. Nothing is inlined away: the blocks are reached through what other threads see.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct conn {
    int fd;
    struct { int state; long bytes; } io;
    pthread_mutex_t lock;
    struct conn *next;
    int ring[4];
} conn;
typedef struct { int id; int *out; } job;

conn *shared;
int *table;
void *bare;

static void *checked(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

static void *work(void *argument)
{
    job *mine = argument;
    conn *c = shared;
    pthread_mutex_lock(&c->lock);
    c->io.state = 2;
    c->next->fd++;
    c->ring[2]++;
    table[3]++;
    ((char *)bare)[5]++;
    (*mine->out)++;
    mine->id = 7;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

int main(void)
{
    volatile int total = 0;
    job first = {1, (int *)&total};
    pthread_t workers[2];
    conn *c = calloc(1, sizeof(conn));
    c->next = checked(sizeof *c);
    c->next->fd = 1;
    shared = c;
    table = malloc(16 *
                   sizeof(int));
    table[3] = 0;
    bare = malloc(24);
    ((char *)bare)[5] = 0;
    pthread_mutex_init(&c->lock, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], 0, work, &first);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], 0);
    printf("%d %d\n", total, first.id);
    return 0;
}
