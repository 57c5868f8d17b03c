// expect: deadlock @ "pthread_mutex_lock(&savings); // paying" > "pthread_mutex_lock(&checking); // saving"
// fails: hang
// A lock that was taken with a limit is held like any other: the calls that wait for ever are the second ones.
#include <time.h>

#include "../scenarios/scenario.h"

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER, savings = PTHREAD_MUTEX_INITIALIZER;
static int paid, saved;

static void *pay(void *unused)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
    if (pthread_mutex_timedlock(&checking, &end) != 0)
        return unused;
    pthread_mutex_lock(&savings); // paying
    paid = 30;
    pthread_mutex_unlock(&savings);
    pthread_mutex_unlock(&checking);
    return unused;
}

static void *save(void *unused)
{
    nap(50);
    pthread_mutex_lock(&savings);
    pthread_mutex_lock(&checking); // saving
    saved = 50;
    pthread_mutex_unlock(&checking);
    pthread_mutex_unlock(&savings);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(pay, NULL), start(save, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("paid %d, saved %d\n", paid, saved);
    return 0;
}
