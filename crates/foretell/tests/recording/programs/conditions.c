#include <pthread.h>
#include <time.h>
#include <unistd.h>

int state, waiting;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER, everyone = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    waiting = 1;
    while (state == 0)
        pthread_cond_wait(&ready, &lock);
    waiting = 2;
    while (state == 1)
        pthread_cond_wait(&everyone, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void wait_for(int value)
{
    pthread_mutex_lock(&lock);
    while (waiting != value) {
        pthread_mutex_unlock(&lock);
        usleep(100);
        pthread_mutex_lock(&lock);
    }
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    wait_for(1);
    state = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    wait_for(2);
    state = 2;
    pthread_cond_broadcast(&everyone);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    pthread_cond_timedwait(&never, &lock, &soon);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, 0);
    return 0;
}
