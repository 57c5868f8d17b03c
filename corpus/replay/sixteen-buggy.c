// expect: race threshold @ "threshold = 10;" ~ "used = threshold;"
// fails: exit 1
// Sixteen workers sign a list. The first sets the threshold before it signs, the last uses it after it has signed.
#include "../scenarios/scenario.h"

#define WORKERS 16

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static int threshold, used, last;

static void sign(int who)
{
    pthread_mutex_lock(&list);
    last = who;
    pthread_mutex_unlock(&list);
}

static void *work(void *argument)
{
    int i = (int)(intptr_t)argument;

    nap(4 * i);
    if (i == 0)
        threshold = 10;
    sign(i);
    if (i == WORKERS - 1)
        used = threshold;
    return NULL;
}

int main(void)
{
    pthread_t threads[WORKERS];

    for (intptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        finish(threads[i]);
    printf("threshold %d, last to sign %d\n", used, last);
    return used == 10 ? 0 : 1;
}
