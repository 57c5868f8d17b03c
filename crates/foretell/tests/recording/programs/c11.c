#include <stdio.h>
#include <threads.h>
#include <time.h>

int counter, ready, made;
mtx_t lock;
cnd_t changed;
once_flag once = ONCE_FLAG_INIT;

static void make(void)
{
    made++;
}

static int work(void *arg)
{
    call_once(&once, make);
    mtx_lock(&lock);
    counter++;
    ready = 1;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    thrd_yield();
    return *(int *)arg;
}

int main(void)
{
    thrd_t worker;
    int answer = 42, status;
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    thrd_create(&worker, work, &answer);
    mtx_lock(&lock);
    while (!ready)
        cnd_wait(&changed, &lock);
    counter++;
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    int late = cnd_timedwait(&changed, &lock, &now) == thrd_timedout;
    mtx_unlock(&lock);
    call_once(&once, make);
    thrd_sleep(&(struct timespec){.tv_nsec = 1000}, 0);
    int busy = mtx_trylock(&lock) == thrd_success;
    mtx_unlock(&lock);
    thrd_join(worker, &status);
    printf("%d %d %d %d %d\n", counter, made, status, late, busy);
    return 0;
}
