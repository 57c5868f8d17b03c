// expect: none
// The janitor starts when the server has ended.
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
    finish(start(serve, NULL));
    finish(start(clean_up, NULL));
    printf("served user %d\n", served);
    return 0;
}
