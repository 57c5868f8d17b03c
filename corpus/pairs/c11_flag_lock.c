/* Correct: test-and-set is one step, so only one thread gets the lock; acquire and release order the section.
 * * */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_flag taken = ATOMIC_FLAG_INIT;
static int counter;

static void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        sched_yield();
}

static void release(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
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
