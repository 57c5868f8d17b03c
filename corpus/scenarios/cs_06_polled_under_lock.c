// expect: none
// allow: atomicity
// The loop ends only after the section that sets the flag: an order by data, whatever the lock's order.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int answer, done, copy;

static void *worker(void *unused)
{
    answer = 42;
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static int is_done(void)
{
    pthread_mutex_lock(&lock);
    int now = done;
    pthread_mutex_unlock(&lock);
    return now;
}

static void *poller(void *unused)
{
    while (!is_done())
        nap(1);
    copy = answer;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(poller, NULL), start(worker, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("copy %d\n", copy);
    return 0;
}
