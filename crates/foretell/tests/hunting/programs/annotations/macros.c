/* The macros of dynamic_annotations.h, as libraries bring them along: they call functions that can be seen. */
#include <pthread.h>
#include <sched.h>

void AnnotateHappensBefore(const char *file, int line, const volatile void *object);
void AnnotateHappensAfter(const char *file, int line, const volatile void *object);
void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long is_writer);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long is_writer);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *object, long size, const char *why);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateThreadName(const char *file, int line, const char *name);
int RunningOnValgrind(void);
double ValgrindSlowdown(void);

#define ANNOTATE_HAPPENS_BEFORE(object) AnnotateHappensBefore(__FILE__, __LINE__, object)
#define ANNOTATE_HAPPENS_AFTER(object) AnnotateHappensAfter(__FILE__, __LINE__, object)
#define ANNOTATE_RWLOCK_CREATE(lock) AnnotateRWLockCreate(__FILE__, __LINE__, lock)
#define ANNOTATE_RWLOCK_DESTROY(lock) AnnotateRWLockDestroy(__FILE__, __LINE__, lock)
#define ANNOTATE_RWLOCK_ACQUIRED(lock, writes) AnnotateRWLockAcquired(__FILE__, __LINE__, lock, writes)
#define ANNOTATE_RWLOCK_RELEASED(lock, writes) AnnotateRWLockReleased(__FILE__, __LINE__, lock, writes)
#define ANNOTATE_BENIGN_RACE_SIZED(object, size, why) \
    AnnotateBenignRaceSized(__FILE__, __LINE__, object, size, why)

#define UNSEEN __attribute__((no_sanitize("thread")))

static int spin, flag, data, locked, statistic, ignored, counted;

UNSEEN static void lock(void)
{
    while (__atomic_exchange_n((volatile int *)&spin, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    ANNOTATE_RWLOCK_ACQUIRED(&spin, 1);
}

UNSEEN static void unlock(void)
{
    ANNOTATE_RWLOCK_RELEASED(&spin, 1);
    __atomic_store_n((volatile int *)&spin, 0, __ATOMIC_RELEASE);
}

UNSEEN static void raise_flag(void) { __atomic_store_n((volatile int *)&flag, 1, __ATOMIC_RELEASE); }
UNSEEN static int is_raised(void) { return __atomic_load_n((volatile int *)&flag, __ATOMIC_ACQUIRE); }

static void adds(void)
{
    lock();
    locked++;
    unlock();
    statistic++;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    ignored++;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#ifndef FIXED
    counted++;
#endif
}

static void *works(void *unused)
{
    AnnotateThreadName(__FILE__, __LINE__, "worker");
    data = 1;
    ANNOTATE_HAPPENS_BEFORE(&flag);
    raise_flag();
    adds();
    return unused;
}

int main(void)
{
    pthread_t thread;
    ANNOTATE_RWLOCK_CREATE(&spin);
    ANNOTATE_BENIGN_RACE_SIZED(&statistic, sizeof statistic, "nobody minds");
    pthread_create(&thread, NULL, works, NULL);
    while (!is_raised())
        sched_yield();
    ANNOTATE_HAPPENS_AFTER(&flag);
    int seen = data;
    adds();
    pthread_join(thread, NULL);
    ANNOTATE_RWLOCK_DESTROY(&spin);
    return seen != 1 || RunningOnValgrind() || ValgrindSlowdown() < 0;
}
