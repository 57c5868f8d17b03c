// Reader-writer locks, barriers, semaphores, once, and C11's threads.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t barrier;
sem_t tokens;
pthread_once_t once = PTHREAD_ONCE_INIT;
int value, serial, initialised;
pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
mtx_t mtx;
cnd_t cnd;
int c11_ready;
static void initialise(void) { initialised++; }
static void *run(void *argument) {
    pthread_once(&once, initialise);
    for (int i = 0; i < 50; i++) {
        pthread_rwlock_wrlock(&rw);
        value++;
        pthread_rwlock_unlock(&rw);
        pthread_rwlock_rdlock(&rw);
        assert(value > 0);
        pthread_rwlock_unlock(&rw);
    }
    sem_wait(&tokens);
    sem_post(&tokens);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    return 0;
}
static int c11(void *argument) {
    mtx_lock(&mtx);
    c11_ready = 1;
    cnd_signal(&cnd);
    mtx_unlock(&mtx);
    return 41;
}
int main(void) {
    pthread_t threads[3];
    pthread_barrier_init(&barrier, 0, 4);
    sem_init(&tokens, 0, 1);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, 0);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    assert(sem_trywait(&tokens) == 0 && sem_trywait(&tokens) == -1 && errno == EAGAIN);
    assert(pthread_rwlock_tryrdlock(&rw) == 0 && pthread_rwlock_trywrlock(&rw) == EBUSY);
    thrd_t thread;
    int status;
    mtx_init(&mtx, mtx_plain);
    cnd_init(&cnd);
    mtx_lock(&mtx);
    assert(thrd_create(&thread, c11, 0) == thrd_success);
    while (!c11_ready) cnd_wait(&cnd, &mtx);
    mtx_unlock(&mtx);
    assert(thrd_join(thread, &status) == thrd_success && status == 41);
    printf("%d %d %d\n", value, serial, initialised);
    return 0;
}
