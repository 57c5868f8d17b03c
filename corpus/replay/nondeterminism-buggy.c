// expect: nondeterminism total @ "report = total;" <- initial
// fails: exit 1
// A reporter copies the total that a worker computes. Both lock; in every run so far the worker was faster.
#include "../scenarios/scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total, report;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    total = 5;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *tell(void *unused)
{
    nap(50);
    pthread_mutex_lock(&lock);
    report = total;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(work, NULL), start(tell, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("report %d\n", report);
    return report == 5 ? 0 : 1;
}
