/* A flag that nobody instruments orders the threads: the program says so. */
#include <pthread.h>
#include <sched.h>

void __tsan_acquire(void *object);
void __tsan_release(void *object);

static int flag, data;

__attribute__((no_sanitize("thread"))) static void raise_flag(void)
{
    __atomic_store_n((volatile int *)&flag, 1, __ATOMIC_RELEASE);
}

__attribute__((no_sanitize("thread"))) static int is_raised(void)
{
    return __atomic_load_n((volatile int *)&flag, __ATOMIC_ACQUIRE);
}

static void *writes(void *unused)
{
    data = 42;
    __tsan_release(&flag);
    raise_flag();
#ifndef FIXED
    data = 43;
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    while (!is_raised())
        sched_yield();
    __tsan_acquire(&flag);
    int seen = data;
    pthread_join(thread, NULL);
    return seen < 42;
}
