// expect: race level @ "level = 3;" ~ "seen = level;"
// A section that is entered by a successful try hides a race as any other does.
#include "scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int level, seen, last;

static void *pump(void *unused)
{
    level = 3;
    if (pthread_mutex_trylock(&lock) == 0) {
        last = 1;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *gauge(void *unused)
{
    nap(2);
    pthread_mutex_lock(&lock);
    last = 2;
    pthread_mutex_unlock(&lock);
    seen = level;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(pump, NULL), start(gauge, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d, last %d\n", seen, last);
    return 0;
}
