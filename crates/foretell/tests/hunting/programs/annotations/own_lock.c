/* A lock of the program's own with readers, writers, attempts and recursion, announced with every flag that there is. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { LINKER_INIT = 1 << 0, REENTRANT = 1 << 1, READ_REENTRANT = 1 << 2, READ = 1 << 3, TRY = 1 << 4,
       TRY_FAILED = 1 << 5, RECURSIVE_LOCK = 1 << 6, RECURSIVE_UNLOCK = 1 << 7, NOT_STATIC = 1 << 8 };
void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_destroy(void *lock, unsigned flags);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);
void __tsan_mutex_pre_signal(void *lock, unsigned flags);
void __tsan_mutex_post_signal(void *lock, unsigned flags);
void __tsan_mutex_pre_divert(void *lock, unsigned flags);
void __tsan_mutex_post_divert(void *lock, unsigned flags);

/* -1: a writer; otherwise how many readers. */
typedef struct { atomic_int state; int depth; } Lock;

static Lock table_lock, static_lock;
static int table, counted, attempts, diverted;

static int takes(Lock *lock, int from, int to)
{
    return atomic_compare_exchange_strong(&lock->state, &from, to);
}

static void lock_write(Lock *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    while (!takes(lock, 0, -1))
        sched_yield();
    __tsan_mutex_post_lock(lock, 0, 1);
}

static void unlock_write(Lock *lock)
{
    __tsan_mutex_pre_unlock(lock, 0);
    atomic_store(&lock->state, 0);
    __tsan_mutex_post_unlock(lock, 0);
}

static void lock_read(Lock *lock)
{
    __tsan_mutex_pre_lock(lock, READ);
    for (;;) {
        int now = atomic_load(&lock->state);
        if (now >= 0 && takes(lock, now, now + 1))
            break;
        sched_yield();
    }
    __tsan_mutex_post_lock(lock, READ, 1);
}

static void unlock_read(Lock *lock)
{
    __tsan_mutex_pre_unlock(lock, READ);
    atomic_fetch_sub(&lock->state, 1);
    __tsan_mutex_post_unlock(lock, READ);
}

static int try_write(Lock *lock)
{
    __tsan_mutex_pre_lock(lock, TRY);
    int taken = takes(lock, 0, -1);
    __tsan_mutex_post_lock(lock, taken ? TRY : TRY | TRY_FAILED, 1);
    return taken;
}

static void *works(void *unused)
{
    lock_write(&table_lock);
    table++;
    /* Taken twice more at once, and given back altogether. */
    __tsan_mutex_pre_lock(&table_lock, RECURSIVE_LOCK);
    __tsan_mutex_post_lock(&table_lock, RECURSIVE_LOCK, 2);
    table++;
    int held = __tsan_mutex_pre_unlock(&table_lock, RECURSIVE_UNLOCK);
    atomic_store(&table_lock.state, 0);
    __tsan_mutex_post_unlock(&table_lock, RECURSIVE_UNLOCK);
    lock_read(&table_lock);
    int seen = table + held;
    unlock_read(&table_lock);
    if (try_write(&static_lock)) {
        attempts++;
        /* What the lock's implementation does with another lock is seen. */
        __tsan_mutex_pre_signal(&static_lock, 0);
        __tsan_mutex_pre_divert(&static_lock, 0);
        lock_write(&table_lock);
        diverted++;
        unlock_write(&table_lock);
        __tsan_mutex_post_divert(&static_lock, 0);
        __tsan_mutex_post_signal(&static_lock, 0);
        unlock_write(&static_lock);
    }
#ifndef FIXED
    lock_read(&table_lock);
    counted++;
    unlock_read(&table_lock);
#endif
    return seen < 0 ? unused : NULL;
}

int main(void)
{
    pthread_t first, second;
    __tsan_mutex_create(&table_lock, REENTRANT | READ_REENTRANT | NOT_STATIC);
    __tsan_mutex_create(&static_lock, LINKER_INIT);
    pthread_create(&first, NULL, works, NULL);
    pthread_create(&second, NULL, works, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    __tsan_mutex_destroy(&static_lock, LINKER_INIT);
    __tsan_mutex_destroy(&table_lock, 0);
    return 0;
}
