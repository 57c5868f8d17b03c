// Names that a pointer could lead astray: an array of pointers, and a local variable that only its function's callees touch.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct conn {
    int id;
    int state;
    char data[1000];
} conn;

struct job {
    int id;
    long sum;
};

static conn **conns;

__attribute__((noinline)) static void add(long *sum)
{
    *sum += 5;
}

static void *work(void *argument)
{
    struct job *job = argument;
    add(&job->sum);
    if (conns[3])
        conns[3]->state = 1;
    return NULL;
}

int main(void)
{
    struct job job = {0};
    pthread_t worker;
    if ((conns = calloc(4096, sizeof(conn *))) == NULL)
        return 1;
    conns[3] = calloc(1, sizeof(conn));
    add(&job.sum);
    pthread_create(&worker, NULL, work, &job);
    if (conns[3])
        conns[3]->state = 2;
    add(&job.sum);
    pthread_join(worker, NULL);
    printf("%ld %d\n", job.sum, conns[3]->state);
    return 0;
}
