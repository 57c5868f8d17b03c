// Fails if 400 ms of waiting take more than 450 ms by the clock, or less.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ticked = PTHREAD_COND_INITIALIZER;
static int ticks;
static volatile double work;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *ticker(void *unused)
{
    for (int i = 0; i < 20; i++) {
        usleep(20000);
        pthread_mutex_lock(&lock);
        ticks++;
        pthread_cond_broadcast(&ticked);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *waiter(void *unused)
{
    pthread_mutex_lock(&lock);
    while (ticks < 20) {
        pthread_cond_wait(&ticked, &lock);
        for (int i = 0; i < 1000; i++)
            work += i;
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    double begin = now();
    pthread_t threads[4];
    pthread_create(&threads[0], 0, ticker, 0);
    for (int i = 1; i < 4; i++)
        pthread_create(&threads[i], 0, waiter, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    double passed = now() - begin;
    printf("%f\n", passed);
    return passed < 0.4 || passed >= 0.45;
}
