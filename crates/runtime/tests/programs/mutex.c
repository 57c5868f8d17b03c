// Mutexes of every type and way of taking.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking;
pthread_spinlock_t spin;
int counter, spun;
static void *run(void *argument) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&plain);
        counter++;
        pthread_mutex_unlock(&plain);
        pthread_spin_lock(&spin);
        spun++;
        pthread_spin_unlock(&spin);
    }
    return 0;
}
static void *held(void *argument) {
    struct timespec soon;
    assert(pthread_mutex_trylock(&plain) == EBUSY);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20000000;
    if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, soon.tv_sec++;
    assert(pthread_mutex_timedlock(&plain, &soon) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    assert(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    return 0;
}
int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &attributes);
    pthread_spin_init(&spin, 0);
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_mutex_lock(&plain);
    pthread_create(&a, 0, held, 0);
    pthread_join(a, 0);
    pthread_mutex_unlock(&plain);
    assert(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == EDEADLK);
    assert(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_unlock(&checking) == EPERM);
    return counter + spun == 400 ? 0 : 1;
}
