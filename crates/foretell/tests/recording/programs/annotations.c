#include <pthread.h>
#include <stdio.h>

/* libtsan's interface, as programs declare it that do without its header. */
void AnnotateHappensBefore(const char *file, int line, const volatile void *object);
void AnnotateHappensAfter(const char *file, int line, const volatile void *object);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *object, long size, const char *why);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);
void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
unsigned short __sanitizer_unaligned_load16(const void *address);
void __sanitizer_unaligned_store16(void *address, unsigned short value);

unsigned invisible;
int published, counted, meant, ignored, locked;
char own_lock, bytes[4], token;

static void lock(void)
{
    __tsan_mutex_pre_lock(&own_lock, 0);
    while (__atomic_exchange_n(&own_lock, 1, __ATOMIC_ACQUIRE))
        ;
    __tsan_mutex_post_lock(&own_lock, 0, 0);
}

static void unlock(void)
{
    __tsan_mutex_pre_unlock(&own_lock, 0);
    __atomic_store_n(&own_lock, 0, __ATOMIC_RELEASE);
    __tsan_mutex_post_unlock(&own_lock, 0);
}

static void *work(void *arg)
{
    published = 1;
    __sanitizer_unaligned_store16(bytes + 1, 7);
    AnnotateHappensBefore(__FILE__, __LINE__, &token);
    __tsan_testonly_barrier_wait(&invisible);
    lock();
    locked++;
    unlock();
    meant++;
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    ignored = 1;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    counted++; /* the race */
    return arg;
}

int main(void)
{
    pthread_t worker;
    AnnotateBenignRaceSized(__FILE__, __LINE__, &meant, sizeof meant, "a statistic");
    __tsan_testonly_barrier_init(&invisible, 2);
    pthread_create(&worker, 0, work, 0);
    __tsan_testonly_barrier_wait(&invisible);
    AnnotateHappensAfter(__FILE__, __LINE__, &token);
    int seen = published + __sanitizer_unaligned_load16(bytes + 1);
    lock();
    locked++;
    unlock();
    meant++;
    seen += ignored;
    counted++; /* the race */
    pthread_join(worker, 0);
    printf("%d\n", seen >= 8 && locked == 2);
    return 0;
}
