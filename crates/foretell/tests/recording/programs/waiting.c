#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int done, tried, ordered, between;
sem_t *named, *shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spin;

static struct timespec in(clockid_t clock, long milliseconds)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *work(void *arg)
{
    ordered = 1;
    sem_post(named);
    between = 1;
    sem_post(shared);
    pthread_spin_lock(&spin);
    done++;
    pthread_spin_unlock(&spin);
    return arg;
}

static void *long_work(void *arg)
{
    usleep(50000);
    pthread_spin_lock(&spin);
    done++;
    pthread_spin_unlock(&spin);
    return arg;
}

int main(void)
{
    char name[40];
    snprintf(name, sizeof name, "/foretell-test-%d", (int)getpid());
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    pthread_spin_init(&spin, 0);
    pthread_t worker, slow;
    pthread_create(&worker, 0, work, 0);
    sem_wait(named);
    int sum = ordered;
    sem_wait(shared);
    sum += between;
    struct timespec time = in(CLOCK_REALTIME, 1);
    sum += sem_timedwait(named, &time) == -1 && errno == ETIMEDOUT;
    time = in(CLOCK_MONOTONIC, 1);
    sum += sem_clockwait(named, CLOCK_MONOTONIC, &time) == -1 && errno == ETIMEDOUT;
    pthread_create(&slow, 0, long_work, 0);
    sum += pthread_tryjoin_np(slow, 0) == EBUSY;
    time = in(CLOCK_REALTIME, 1);
    sum += pthread_timedjoin_np(slow, 0, &time) == ETIMEDOUT;
    time = in(CLOCK_MONOTONIC, 60000);
    sum += pthread_clockjoin_np(slow, 0, CLOCK_MONOTONIC, &time) == 0;
    pthread_spin_lock(&spin);
    sum += pthread_spin_trylock(&spin) == EBUSY;
    pthread_spin_unlock(&spin);
    time = in(CLOCK_MONOTONIC, 60000);
    sum += pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &time) == 0;
    time = in(CLOCK_MONOTONIC, 1);
    sum += pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &time) == ETIMEDOUT;
    pthread_mutex_unlock(&lock);
    time = in(CLOCK_MONOTONIC, 60000);
    sum += pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &time) == 0;
    pthread_rwlock_unlock(&rwlock);
    time = in(CLOCK_MONOTONIC, 60000);
    sum += pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &time) == 0;
    pthread_rwlock_unlock(&rwlock);
    pthread_join(worker, 0);
    sem_close(named);
    sem_unlink(name);
    printf("%d %d\n", sum, done);
    return 0;
}
