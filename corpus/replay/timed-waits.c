// expect: none
// A signal and a post that can come too early or not at all, and locks for reading and writing in opposite orders; whoever waits has a limit.
#include <semaphore.h>
#include <time.h>

#include "../scenarios/scenario.h"

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static sem_t stamps;
static int woken, stamped, read_first, written;

static struct timespec in_a_second(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
    return end;
}

static void *clerk(void *unused)
{
    struct timespec end = in_a_second();

    pthread_mutex_lock(&desk);
    woken = pthread_cond_timedwait(&bell, &desk, &end) == 0;
    stamped = sem_timedwait(&stamps, &end) == 0;
    if (pthread_rwlock_timedrdlock(&shelf, &end) == 0) {
        read_first = 1;
        pthread_rwlock_unlock(&shelf);
    }
    pthread_mutex_unlock(&desk);
    return unused;
}

static void *visitor(void *unused)
{
    struct timespec end = in_a_second();

    nap(20);
    pthread_cond_signal(&bell);
    sem_post(&stamps);
    nap(20);
    if (pthread_rwlock_timedwrlock(&shelf, &end) == 0) {
        if (pthread_mutex_timedlock(&desk, &end) == 0) {
            written = 1;
            pthread_mutex_unlock(&desk);
        }
        pthread_rwlock_unlock(&shelf);
    }
    return unused;
}

int main(void)
{
    sem_init(&stamps, 0, 0);
    pthread_t threads[] = {start(clerk, NULL), start(visitor, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("woken %d, stamped %d, read %d, written %d\n", woken, stamped, read_first, written);
    return 0;
}
