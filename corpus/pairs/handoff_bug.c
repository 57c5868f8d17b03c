/* A lock is handed from one thread to another: the main thread locks the gate, and the giver, which does not hold it, unlocks it when it has
   prepared. That is an error by itself; and the order it makes does not cover what both count afterwards, without a lock. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int content, uses;

static void *give(void *unused)
{
    content = 1;
    pthread_mutex_unlock(&gate);
    uses++;
    return unused;
}

static void *take(void *unused)
{
    pthread_mutex_lock(&gate);
    content++;
    uses++;
    return unused;
}

int main(void)
{
    pthread_t giver, taker;
    pthread_mutex_lock(&gate);
    pthread_create(&giver, NULL, give, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(giver, NULL);
    pthread_join(taker, NULL);
    assert(content == 2 && uses == 2);
    return 0;
}
