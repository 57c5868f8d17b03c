// expect: race result @ "result = 42;" ~ "early = result;"
// Main looks at the result before it waits for the worker; the log's lock hides it.
#include "scenario.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int result, last;

static void note(int what)
{
    pthread_mutex_lock(&log_lock);
    last = what;
    pthread_mutex_unlock(&log_lock);
}

static void *worker(void *unused)
{
    result = 42;
    note(1);
    return unused;
}

int main(void)
{
    pthread_t thread = start(worker, NULL);
    int early;

    nap(3);
    note(2);
    early = result;
    finish(thread);
    printf("result %d, last %d\n", early, last);
    return 0;
}
