// expect: none
// Whoever comes first sets the table up, the others wait for it.
#include "scenario.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int table[2], sums[3];

static void set_up(void)
{
    table[0] = 20;
    table[1] = 22;
}

static void *user(void *argument)
{
    int i = (int)(intptr_t)argument;

    pthread_once(&once, set_up);
    sums[i] = table[0] + table[1];
    return NULL;
}

int main(void)
{
    pthread_t threads[3];

    for (intptr_t i = 0; i < 3; i++)
        threads[i] = start(user, (void *)i);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("sums %d %d %d\n", sums[0], sums[1], sums[2]);
    return 0;
}
