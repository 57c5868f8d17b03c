// expect: none
// Opposite orders, but one side has little patience and gives back what it has when its time is over: once it gets both locks, and once it does not.
#include <time.h>

#include "../scenarios/scenario.h"

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER, savings = PTHREAD_MUTEX_INITIALIZER;
static int paid, saved, given_up;

static void *pay(void *unused)
{
    pthread_mutex_lock(&checking);
    nap(60);
    pthread_mutex_lock(&savings);
    paid = 30;
    pthread_mutex_unlock(&savings);
    pthread_mutex_unlock(&checking);
    return unused;
}

static int save(void)
{
    struct timespec end;
    int in_time;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 5000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&savings);
    in_time = pthread_mutex_timedlock(&checking, &end) == 0;
    if (in_time) {
        saved = 50;
        pthread_mutex_unlock(&checking);
    }
    pthread_mutex_unlock(&savings);
    return in_time;
}

static void *keep_saving(void *unused)
{
    nap(20);
    while (!save())
        given_up++, nap(20);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(pay, NULL), start(keep_saving, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("paid %d, saved %d, gave up %d times\n", paid, saved, given_up);
    return 0;
}
