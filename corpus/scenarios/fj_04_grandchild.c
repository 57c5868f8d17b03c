// expect: none
// What a grandchild wrote is ordered before main by two joins.
#include "scenario.h"

static int order, answer;

static void *grandchild(void *unused)
{
    answer = order * 2;
    return unused;
}

static void *child(void *unused)
{
    finish(start(grandchild, NULL));
    return unused;
}

int main(void)
{
    order = 21;
    finish(start(child, NULL));
    printf("answer %d\n", answer);
    return 0;
}
