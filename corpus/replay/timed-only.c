// expect: none
// Opposite orders, and every lock is taken with a limit: there is no call that could wait for ever.
#include <time.h>

#include "../scenarios/scenario.h"

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER, savings = PTHREAD_MUTEX_INITIALIZER;
static int moved[2];

static int take(pthread_mutex_t *lock)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
    return pthread_mutex_timedlock(lock, &end) == 0;
}

static void move(pthread_mutex_t *from, pthread_mutex_t *to, int *how_much)
{
    if (!take(from))
        return;
    if (take(to)) {
        *how_much = 30;
        pthread_mutex_unlock(to);
    }
    pthread_mutex_unlock(from);
}

static void *pay(void *unused)
{
    move(&checking, &savings, &moved[0]);
    return unused;
}

static void *save(void *unused)
{
    nap(20);
    move(&savings, &checking, &moved[1]);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(pay, NULL), start(save, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("moved %d and %d\n", moved[0], moved[1]);
    return 0;
}
