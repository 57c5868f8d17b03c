/* Paper 2, figure 3: three threads, and the file f is never open twice: t3 waits, with the lock, for what t1 tells with the
 * lock, so t1 has given it back before t2 can get the message. The paper's notify and wait keep the lock; here a semaphore does.
 *
 *   cc -pthread -I../../include p2-fig3.c
 */
#include <pthread.h>
#include <semaphore.h>

#include "foretell.h"

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static sem_t notified, message;

static void *t1(void *unused)
{
    pthread_mutex_lock(&l);   /* a1 */
    sem_post(&notified);      /* a2 */
    FORETELL_MARK("f", +1);   /* a3: openFile(f) */
    FORETELL_MARK("f", -1);   /* a4: closeFile(f) */
    pthread_mutex_unlock(&l); /* a5 */
    return unused;
}

static void *t2(void *unused)
{
    sem_wait(&message);     /* b1 */
    FORETELL_MARK("f", +1); /* b2: openFile(f) */
    return unused;
}

static void *t3(void *unused)
{
    /* With the lock first, t3 would wait for ever: the run is one in which t1 has had it. */
    sem_wait(&notified);
    sem_post(&notified);
    pthread_mutex_lock(&l);   /* c1 */
    sem_wait(&notified);      /* c2 */
    sem_post(&message);       /* c3 */
    pthread_mutex_unlock(&l); /* c4 */
    return unused;
}

int main(void)
{
    pthread_t first, second, third;
    sem_init(&notified, 0, 0);
    sem_init(&message, 0, 0);
    pthread_create(&first, 0, t1, 0);
    pthread_create(&second, 0, t2, 0);
    pthread_create(&third, 0, t3, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    pthread_join(third, 0);
    return 0;
}
