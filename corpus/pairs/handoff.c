/* A lock is handed from one thread to another: a semaphore, which any thread may raise, lets the taker go on when the giver has prepared. What
   both count afterwards is under a mutex. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t prepared;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int content, uses;

static void count(void)
{
    pthread_mutex_lock(&counting);
    uses++;
    pthread_mutex_unlock(&counting);
}

static void *give(void *unused)
{
    content = 1;
    sem_post(&prepared);
    count();
    return unused;
}

static void *take(void *unused)
{
    sem_wait(&prepared);
    content++;
    count();
    return unused;
}

int main(void)
{
    pthread_t giver, taker;
    sem_init(&prepared, 0, 0);
    pthread_create(&giver, NULL, give, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(giver, NULL);
    pthread_join(taker, NULL);
    assert(content == 2 && uses == 2);
    return 0;
}
