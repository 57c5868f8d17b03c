// expect: race ready @ "ready = 1;" ~ "while (!ready)"
// allow: atomicity
// The lock is taken for the signal, but not for what the signal is about.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waker(void *unused)
{
    ready = 1;
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *waiter(void *unused)
{
    nap(2);
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(waker, NULL), start(waiter, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    puts("ready");
    return 0;
}
