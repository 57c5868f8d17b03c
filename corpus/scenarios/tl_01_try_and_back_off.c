// expect: none
// Opposite orders, but one side only tries and backs off: no deadlock.
#include <sched.h>

#include "scenario.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void *blunt(void *unused)
{
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    last = 1;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    return unused;
}

static void *polite(void *unused)
{
    pthread_mutex_lock(&right);
    while (pthread_mutex_trylock(&left) != 0) {
        pthread_mutex_unlock(&right);
        sched_yield();
        pthread_mutex_lock(&right);
    }
    last = 2;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(blunt, NULL), start(polite, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("last %d\n", last);
    return 0;
}
