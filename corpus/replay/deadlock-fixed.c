// expect: none
// Both transfers lock the accounts in the same order.
#include "../scenarios/scenario.h"

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER, savings = PTHREAD_MUTEX_INITIALIZER;
static int paid, saved;

static void *pay(void *unused)
{
    pthread_mutex_lock(&checking);
    pthread_mutex_lock(&savings);
    paid = 30;
    pthread_mutex_unlock(&savings);
    pthread_mutex_unlock(&checking);
    return unused;
}

static void *save(void *unused)
{
    pthread_mutex_lock(&checking);
    pthread_mutex_lock(&savings);
    saved = 50;
    pthread_mutex_unlock(&savings);
    pthread_mutex_unlock(&checking);
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
