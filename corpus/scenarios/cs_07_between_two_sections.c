// expect: race finished @ "finished = 1;" ~ "seen = finished;"
// The writer has sections before and after its write: the reader's must come between them.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished, seen, last;

static void note(int what)
{
    pthread_mutex_lock(&lock);
    last = what;
    pthread_mutex_unlock(&lock);
}

static void *builder(void *unused)
{
    for (int step = 0; step < 3; step++)
        note(step);
    finished = 1;
    note(3);
    return unused;
}

static void *inspector(void *unused)
{
    nap(2);
    note(4);
    seen = finished;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(builder, NULL), start(inspector, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d, last %d\n", seen, last);
    return 0;
}
