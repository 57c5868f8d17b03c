// A bounded queue, and waits that end in other ways.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;
int queue[4], used, sum, waiting, go;
static void *produce(void *argument) {
    for (int i = 1; i <= 200; i++) {
        pthread_mutex_lock(&lock);
        while (used == 4) pthread_cond_wait(&full, &lock);
        queue[used++] = i;
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
static void *consume(void *argument) {
    for (int i = 1; i <= 200; i++) {
        pthread_mutex_lock(&lock);
        while (used == 0) pthread_cond_wait(&empty, &lock);
        sum += queue[--used];
        pthread_cond_signal(&full);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
static void *await(void *argument) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (!go) pthread_cond_wait(&all, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i & 1 ? consume : produce, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, await, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        if (waiting == 4) break;
        pthread_mutex_unlock(&lock);
    }
    go = 1;
    pthread_cond_broadcast(&all);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 0;
    assert(pthread_cond_timedwait(&full, &lock, &soon) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    assert(pthread_cond_clockwait(&full, &lock, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%d\n", sum);
    return 0;
}
