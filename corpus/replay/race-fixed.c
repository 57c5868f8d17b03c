// expect: none
// The session is closed when the server has ended.
#include <assert.h>

#include "../scenarios/scenario.h"

struct session {
    int user;
};

static struct session only = {7};
static struct session *session = &only;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static int served, last;

static void note(int what)
{
    pthread_mutex_lock(&journal);
    last = what;
    pthread_mutex_unlock(&journal);
}

static void *serve(void *unused)
{
    struct session *current;

    current = session;
    assert(current != NULL);
    served = current->user;
    note(1);
    return unused;
}

static void *shut(void *unused)
{
    note(2);
    session = NULL;
    return unused;
}

int main(void)
{
    finish(start(serve, NULL));
    finish(start(shut, NULL));
    printf("served user %d, last %d\n", served, last);
    return 0;
}
