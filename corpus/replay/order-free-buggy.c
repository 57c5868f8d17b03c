// expect: order session @ "free(session);" < "user = session->user;"
// fails: abort
// A server answers from the session, a janitor frees it. Both lock, but nothing says that the server is done.
#include <assert.h>

#include "../scenarios/scenario.h"

struct session {
    char name[32];
    volatile int user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *session;
static int served;

static void *serve(void *unused)
{
    int user;

    pthread_mutex_lock(&lock);
    user = session->user;
    pthread_mutex_unlock(&lock);
    assert(user == 7);
    served = user;
    return unused;
}

static void *clean_up(void *unused)
{
    nap(50);
    pthread_mutex_lock(&lock);
    session->user = 0;
    free(session);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    session = malloc(sizeof *session);
    if (!session)
        abort();
    session->user = 7;
    pthread_t threads[] = {start(serve, NULL), start(clean_up, NULL)};
    finish(threads[0]);
    finish(threads[1]);
    printf("served user %d\n", served);
    return 0;
}
