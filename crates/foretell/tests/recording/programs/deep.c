// Threads share variables on each other's stacks, on the heap and in libraries' memory: names that addresses could get into.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    int count;
    long *heap;
    pthread_mutex_t lock;
};

static void *work(void *argument)
{
    struct job *job = argument;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&job->lock);
        job->count++;
        job->heap[i % 4] += i;
        pthread_mutex_unlock(&job->lock);
    }
    return NULL;
}

static int run(int depth)
{
    char room[100];
    struct job job = {0, calloc(4, sizeof(long)), PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];

    snprintf(room, sizeof room, "%d", depth);
    if (depth > 0)
        return run(depth - 1) + room[0];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &job);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    free(job.heap);
    return job.count;
}

int main(void)
{
    return run(3) == 0;
}
