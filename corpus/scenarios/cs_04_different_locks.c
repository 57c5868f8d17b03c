// expect: race balance @ "balance = 10;" ~ "balance = 20;"
// Each thread holds a lock of its own; a third lock, taken around nothing of interest, hides it.
#include "scenario.h"

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, yours = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int balance, last;

static void *first(void *unused)
{
    pthread_mutex_lock(&mine);
    balance = 10;
    pthread_mutex_unlock(&mine);
    pthread_mutex_lock(&log_lock);
    last = 1;
    pthread_mutex_unlock(&log_lock);
    return unused;
}

static void *second(void *unused)
{
    nap(2);
    pthread_mutex_lock(&log_lock);
    last = 2;
    pthread_mutex_unlock(&log_lock);
    pthread_mutex_lock(&yours);
    balance = 20;
    pthread_mutex_unlock(&yours);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(first, NULL), start(second, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("balance %d, last %d\n", balance, last);
    return 0;
}
