// expect: deadlock @ "pthread_cond_wait(&arrived, &lock);" > "pthread_mutex_lock(&office); // courier"
// allow: atomicity
// The clerk waits for the courier with the office locked; the courier has to get in first.
#include "scenario.h"

static pthread_mutex_t office = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int parcel, last;

static void *clerk(void *unused)
{
    nap(10);
    pthread_mutex_lock(&office);
    last = 1;
    pthread_mutex_lock(&lock);
    while (!parcel)
        pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&office);
    return unused;
}

static void *courier(void *unused)
{
    pthread_mutex_lock(&office); // courier
    last = 2;
    pthread_mutex_unlock(&office);
    nap(30);
    pthread_mutex_lock(&lock);
    parcel = 1;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(courier, NULL), start(clerk, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("last %d\n", last);
    return 0;
}
