// expect: deadlock @ "pthread_mutex_lock(&savings); // paying" > "pthread_mutex_lock(&checking); // saving"
// fails: hang
// Money goes from one account to the other, and back, each transfer with both accounts locked.
#include "../scenarios/scenario.h"

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER, savings = PTHREAD_MUTEX_INITIALIZER;
static int paid, saved;

static void *pay(void *unused)
{
    pthread_mutex_lock(&checking);
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
