/* Wrong: the lock is tested and set in two steps, so two threads can see it free and both take it. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int taken;
static int counter;

static void acquire(void)
{
    while (atomic_load_explicit(&taken, memory_order_acquire))
        sched_yield();
    atomic_store_explicit(&taken, 1, memory_order_relaxed);
}

static void release(void)
{
    atomic_store_explicit(&taken, 0, memory_order_release);
}

static void *add(void *unused)
{
    for (int i = 0; i < 2; i++) {
        acquire();
        counter++;
        release();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(counter == 4);
    printf("counter %d\n", counter);
    return 0;
}
