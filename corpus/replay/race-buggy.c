// expect: race session @ "current = session;" ~ "session = NULL;"
// fails: abort
// A server answers from the session while another thread closes it. In every run so far the answer came first, and the journal's lock seems to order the two.
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
    nap(50);
    note(2);
    session = NULL;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(serve, NULL), start(shut, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("served user %d, last %d\n", served, last);
    return 0;
}
