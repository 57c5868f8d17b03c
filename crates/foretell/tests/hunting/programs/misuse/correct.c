// Everything that the programs beside this one do wrong, done right.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock, again;
static pthread_cond_t changed;
static pthread_rwlock_t table;
static pthread_barrier_t round;
static sem_t permits;
static int ready;

static void handler(int signal)
{
    (void)signal;
    int before = errno;
    close(-1);
    errno = before;
}

static void *works(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_unlock(&table);
    pthread_mutex_lock(&again);
    pthread_mutex_lock(&again);
    pthread_mutex_unlock(&again);
    pthread_mutex_unlock(&again);
    pthread_barrier_wait(&round);
    sem_post(&permits);
    return unused;
}

static void *is_detached(void *unused)
{
    sem_post(&permits);
    return unused;
}

int main(void)
{
    for (int round_number = 0; round_number < 2; round_number++) {
        pthread_mutexattr_t recursive;
        pthread_mutexattr_init(&recursive);
        pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&lock, NULL);
        pthread_mutex_init(&again, &recursive);
        pthread_cond_init(&changed, NULL);
        pthread_rwlock_init(&table, NULL);
        pthread_barrier_init(&round, NULL, 2);
        sem_init(&permits, 0, 0);
        ready = 0;

        pthread_t thread, other;
        pthread_attr_t detached;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        pthread_create(&thread, NULL, works, NULL);
        pthread_create(&other, &detached, is_detached, NULL);
        pthread_mutex_lock(&lock);
        ready = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&round);
        sem_wait(&permits);
        sem_wait(&permits);
        pthread_join(thread, NULL);

        pthread_mutex_destroy(&lock);
        pthread_mutex_destroy(&again);
        pthread_cond_destroy(&changed);
        pthread_rwlock_destroy(&table);
        pthread_barrier_destroy(&round);
        sem_destroy(&permits);
    }
    // A static initialiser makes another lock of it.
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);

    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return 0;
}
