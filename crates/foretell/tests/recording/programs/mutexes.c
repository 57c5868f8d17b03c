#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

int counter;
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *work(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&plain);
        counter++;
        pthread_mutex_unlock(&plain);
    }
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    counter++;
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    return arg;
}

static void *try(void *arg)
{
    if (pthread_mutex_trylock(&tried) == 0)
        return (void *)1;
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000000;
    if (soon.tv_nsec >= 1000000000) {
        soon.tv_nsec -= 1000000000;
        soon.tv_sec++;
    }
    return pthread_mutex_timedlock(&tried, &soon) == 0 ? (void *)1 : arg;
}

int main(void)
{
    pthread_t worker, trier;
    pthread_create(&worker, 0, work, 0);
    work(0);
    pthread_join(worker, 0);
    pthread_mutex_lock(&tried);
    pthread_create(&trier, 0, try, 0);
    pthread_join(trier, 0);
    pthread_mutex_unlock(&tried);
    printf("%d\n", counter);
    return 0;
}
