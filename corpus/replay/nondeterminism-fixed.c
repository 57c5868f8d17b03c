// expect: none
// The reporter starts when the worker has ended.
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
    pthread_mutex_lock(&lock);
    report = total;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    finish(start(work, NULL));
    finish(start(tell, NULL));
    printf("report %d\n", report);
    return report == 5 ? 0 : 1;
}
