#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int total;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = malloc(count * sizeof *threads);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], 0, work, 0))
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", total);
    return 0;
}
