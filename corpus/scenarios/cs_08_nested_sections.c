// expect: race total @ "total = 1;" ~ "total = 2;"
// One thread writes within the outer section, the other after a section of the inner lock only.
#include "scenario.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int total, last;

static void *first(void *unused)
{
    pthread_mutex_lock(&outer);
    total = 1;
    pthread_mutex_lock(&inner);
    last = 1;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return unused;
}

static void *second(void *unused)
{
    nap(2);
    pthread_mutex_lock(&inner);
    last = 2;
    pthread_mutex_unlock(&inner);
    total = 2;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(first, NULL), start(second, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("total %d, last %d\n", total, last);
    return 0;
}
