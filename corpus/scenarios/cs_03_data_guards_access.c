// expect: none
// What the section reads decides whether the access happens at all, so the sections cannot change places.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int report, ready, copy;

static void *author(void *unused)
{
    report = 42;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused)
{
    nap(3);
    pthread_mutex_lock(&lock);
    int there = ready;
    pthread_mutex_unlock(&lock);
    if (there)
        copy = report;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(author, NULL), start(reader, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("copy %d\n", copy);
    return 0;
}
