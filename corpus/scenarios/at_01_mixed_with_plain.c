// expect: race hits @ "__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);" ~ "hits = hits + 1;"
// One thread counts atomically, the other does not.
#include "scenario.h"

static int hits;

static void *careful(void *unused)
{
    __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *careless(void *unused)
{
    hits = hits + 1;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(careful, NULL), start(careless, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("hits %d\n", hits);
    return 0;
}
