/* A lock of the program's own that threads wait for a signal with. The signal promises no order: whoever is woken takes the lock again. What
 * its implementation does orders the threads in every run all the same, so no replay brings the two accesses together. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);
void __tsan_mutex_pre_signal(void *lock, unsigned flags);
void __tsan_mutex_post_signal(void *lock, unsigned flags);

static atomic_int taken;
static int signals, value;

static void lock(void)
{
    __tsan_mutex_pre_lock(&taken, 0);
    while (atomic_exchange(&taken, 1))
        sched_yield();
    __tsan_mutex_post_lock(&taken, 0, 1);
}

static void unlock(void)
{
    __tsan_mutex_pre_unlock(&taken, 0);
    atomic_store(&taken, 0);
    __tsan_mutex_post_unlock(&taken, 0);
}

static void broadcast(void)
{
    __tsan_mutex_pre_signal(&taken, 0);
    while (atomic_exchange(&taken, 1))
        sched_yield();
    signals++;
    atomic_store(&taken, 0);
    __tsan_mutex_post_signal(&taken, 0);
}

static void *produces(void *unused)
{
    lock();
    value++;
    unlock();
#ifdef FIXED
    lock();
#endif
    value++;
#ifdef FIXED
    unlock();
#endif
    broadcast();
    return unused;
}

int main(void)
{
    pthread_t producer;
    __tsan_mutex_create(&taken, 0);
    lock();
    pthread_create(&producer, NULL, produces, NULL);
    for (int seen = signals; seen == signals;) {
        unlock();
        sched_yield();
        lock();
    }
    int result = value;
    unlock();
    pthread_join(producer, NULL);
    return result != 2;
}
