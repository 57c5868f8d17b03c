/* Every annotation that no other program here uses: it links, runs, and orders or hides what it says. The threads meet at a barrier
   that orders nothing, and the words of their locks are relaxed, so only the annotations keep the accesses apart. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT __FILE__, __LINE__

void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
void WTFAnnotateHappensBefore(const char *, int, void *);
void WTFAnnotateHappensAfter(const char *, int, void *);
void WTFAnnotateBenignRaceSized(const char *, int, void *, size_t, const char *);
void AnnotateCondVarSignal(const char *, int, void *);
void AnnotateCondVarSignalAll(const char *, int, void *);
void AnnotateCondVarWait(const char *, int, void *, void *);
void AnnotateRWLockCreateStatic(const char *, int, void *);
void AnnotateRWLockDestroy(const char *, int, void *);
void AnnotateRWLockAcquired(const char *, int, void *, long);
void AnnotateRWLockReleased(const char *, int, void *, long);
void AnnotateThreadName(const char *, int, const char *);
void AnnotateNewMemory(const char *, int, void *, size_t);
void AnnotatePublishMemoryRange(const char *, int, void *, size_t);
void AnnotateUnpublishMemoryRange(const char *, int, void *, size_t);
void AnnotatePCQCreate(const char *, int, void *);
void AnnotatePCQPut(const char *, int, void *);
void AnnotatePCQGet(const char *, int, void *);
void AnnotatePCQDestroy(const char *, int, void *);
void AnnotateExpectRace(const char *, int, void *, const char *);
void AnnotateFlushExpectedRaces(const char *, int);
void AnnotateFlushState(const char *, int);
void AnnotateTraceMemory(const char *, int, void *);
void AnnotateMutexIsNotPHB(const char *, int, void *);
void AnnotateMutexIsUsedAsCondVar(const char *, int, void *);
void AnnotateMemoryIsInitialized(const char *, int, void *, size_t);
void AnnotateMemoryIsUninitialized(const char *, int, void *, size_t);
void AnnotateEnableRaceDetection(const char *, int, int);
void AnnotateNoOp(const char *, int, void *);
int RunningOnValgrind(void);
double ValgrindSlowdown(void);
const char *ThreadSanitizerQuery(const char *);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
void __tsan_flush_memory(void);
void __tsan_java_init(uintptr_t heap, uintptr_t size);
int __tsan_java_fini(void);
void __tsan_java_alloc(uintptr_t block, uintptr_t size);
void __tsan_java_free(uintptr_t block, uintptr_t size);
void __tsan_java_move(uintptr_t from, uintptr_t to, uintptr_t size);
uintptr_t __tsan_java_find(uintptr_t *from, uintptr_t to);
void __tsan_java_finalize(void);
void __tsan_java_acquire(void *);
void __tsan_java_release(void *);
void __tsan_java_release_store(void *);
void __tsan_java_mutex_lock(void *);
void __tsan_java_mutex_unlock(void *);
void __tsan_java_mutex_lock_rec(void *, int);
int __tsan_java_mutex_unlock_rec(void *);
void __tsan_java_mutex_read_lock(void *);
void __tsan_java_mutex_read_unlock(void *);
void *__tsan_external_register_tag(const char *);
void __tsan_external_register_header(void *, const char *);
void __tsan_external_assign_tag(void *, void *);
void __tsan_external_read(void *, void *, void *);
void __tsan_external_write(void *, void *, void *);
void *__tsan_get_current_fiber(void);
void __tsan_set_fiber_name(void *, const char *);
void __sanitizer_syscall_pre_impl_write(long, long, long);
void __sanitizer_syscall_post_impl_write(long, long, long, long);
void __sanitizer_syscall_pre_impl_read(long, long, long);
void __sanitizer_syscall_post_impl_read(long, long, long, long);
void __sanitizer_syscall_pre_impl_getpid(void);
void __sanitizer_syscall_post_impl_getpid(long);
void __sanitizer_cov_trace_cmp4(uint32_t, uint32_t);
void __sanitizer_dump_coverage(const uintptr_t *, size_t);

static unsigned barrier;
static char tokens[5], words[3], locks[3];
static int published[5], guarded[3], meant, ignored, sent, external, counted;
static int files[2];

/* A system call that no function of the C library makes. */
static long raw(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static void take(char *word)
{
    while (__atomic_exchange_n(word, 1, __ATOMIC_RELAXED))
        sched_yield();
}

static void give(char *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELAXED);
}

static void use_locks(void)
{
    take(&words[0]);
    AnnotateRWLockAcquired(AT, &locks[0], 1);
    guarded[0]++;
    AnnotateRWLockReleased(AT, &locks[0], 1);
    give(&words[0]);

    take(&words[1]);
    __tsan_java_mutex_lock(&locks[1]);
    guarded[1]++;
    __tsan_java_mutex_unlock(&locks[1]);
    give(&words[1]);

    take(&words[2]);
    __tsan_java_mutex_lock_rec(&locks[2], 2);
    guarded[2]++;
    if (__tsan_java_mutex_unlock_rec(&locks[2]) != 2)
        abort();
    give(&words[2]);
}

static void use_what_does_nothing(void)
{
    char queue, memory[16];
    uintptr_t at = (uintptr_t)memory;
    AnnotateNewMemory(AT, memory, sizeof memory);
    AnnotatePublishMemoryRange(AT, memory, sizeof memory);
    AnnotateUnpublishMemoryRange(AT, memory, sizeof memory);
    AnnotatePCQCreate(AT, &queue);
    AnnotatePCQPut(AT, &queue);
    AnnotatePCQGet(AT, &queue);
    AnnotatePCQDestroy(AT, &queue);
    AnnotateExpectRace(AT, memory, "none");
    AnnotateFlushExpectedRaces(AT);
    AnnotateFlushState(AT);
    AnnotateTraceMemory(AT, memory);
    AnnotateMutexIsNotPHB(AT, memory);
    AnnotateMutexIsUsedAsCondVar(AT, memory);
    AnnotateMemoryIsInitialized(AT, memory, sizeof memory);
    AnnotateMemoryIsUninitialized(AT, memory, sizeof memory);
    AnnotateEnableRaceDetection(AT, 1);
    AnnotateNoOp(AT, memory);
    __tsan_flush_memory();
    __sanitizer_cov_trace_cmp4(1, 2);
    __sanitizer_dump_coverage(&at, 1);
    __tsan_java_init(at, 16);
    __tsan_java_alloc(at, 8);
    __tsan_java_move(at, at + 8, 8);
    __tsan_java_free(at + 8, 8);
    if (__tsan_java_find(&at, at + 16) != 0 || __tsan_java_fini() != 0)
        abort();
    __sanitizer_syscall_pre_impl_getpid();
    __sanitizer_syscall_post_impl_getpid(raw(SYS_getpid, 0, 0, 0));
    if (RunningOnValgrind() || ValgrindSlowdown() < 1 || strcmp(ThreadSanitizerQuery("pure_happens_before"), "1") != 0
        || strcmp(ThreadSanitizerQuery("other"), "0") != 0)
        abort();
}

static void *works(void *tag)
{
    AnnotateThreadName(AT, "worker");
    __tsan_set_fiber_name(__tsan_get_current_fiber(), "fiber of worker");
    published[0] = 1;
    WTFAnnotateHappensBefore(AT, &tokens[0]);
    published[1] = 1;
    AnnotateCondVarSignal(AT, &tokens[1]);
    published[2] = 1;
    AnnotateCondVarSignalAll(AT, &tokens[2]);
    published[3] = 1;
    __tsan_java_release(&tokens[3]);
    published[4] = 1;
    __tsan_java_release_store(&tokens[4]);
    sent = 1;
    char byte = 's';
    __sanitizer_syscall_pre_impl_write(files[1], (long)&byte, 1);
    __sanitizer_syscall_post_impl_write(raw(SYS_write, files[1], (long)&byte, 1), files[1], (long)&byte, 1);
    __tsan_external_assign_tag(&external, tag);
    __tsan_external_write(&external, 0, tag);
    __tsan_testonly_barrier_wait(&barrier);
    meant++;
    __tsan_ignore_thread_begin();
    ignored++;
    __tsan_ignore_thread_end();
    use_locks();
#ifndef FIXED
    counted++;
#endif
    return 0;
}

int main(void)
{
    pthread_t worker;
    char byte = 0;
    int seen = 0;
    void *tag = __tsan_external_register_tag("object");
    __tsan_external_register_header(tag, "race on an object");
    if (pipe(files) != 0)
        abort();
    use_what_does_nothing();
    WTFAnnotateBenignRaceSized(AT, &meant, sizeof meant, "a statistic");
    AnnotateRWLockCreateStatic(AT, &locks[0]);
    __tsan_testonly_barrier_init(&barrier, 2);
    pthread_create(&worker, 0, works, tag);
    __tsan_testonly_barrier_wait(&barrier);
    WTFAnnotateHappensAfter(AT, &tokens[0]);
    seen += published[0];
    AnnotateCondVarWait(AT, &tokens[1], &locks[0]);
    seen += published[1];
    AnnotateCondVarWait(AT, &tokens[2], &locks[0]);
    seen += published[2];
    __tsan_java_acquire(&tokens[3]);
    seen += published[3];
    __tsan_java_acquire(&tokens[4]);
    seen += published[4];
    __sanitizer_syscall_pre_impl_read(files[0], (long)&byte, 1);
    __sanitizer_syscall_post_impl_read(raw(SYS_read, files[0], (long)&byte, 1), files[0], (long)&byte, 1);
    seen += sent + (byte == 's');
    __tsan_external_read(&external, 0, tag);
    meant++;
    __tsan_ignore_thread_begin();
    ignored++;
    __tsan_ignore_thread_end();
    use_locks();
    __tsan_java_mutex_read_lock(&locks[1]);
    __tsan_java_mutex_read_unlock(&locks[1]);
    counted++;
    pthread_join(worker, 0);
    __tsan_java_finalize();
    AnnotateRWLockDestroy(AT, &locks[0]);
    /* Whether the annotations did as they say. */
    if (seen != 7 || guarded[0] + guarded[1] + guarded[2] != 6)
        abort();
    return 0;
}
