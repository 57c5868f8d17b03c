#include <pthread.h>
#include <stdatomic.h>

atomic_int flag, number, choice;
int plain;

static void *work(void *arg)
{
    while (atomic_load(&flag) == 0)
        ;
    plain = 1;
    atomic_fetch_add(&number, 2);
    int expected = 3;
    atomic_compare_exchange_strong(&number, &expected, 9);
    int wrong = 7, right = 0;
    atomic_compare_exchange_strong_explicit(&choice, &wrong, 1, memory_order_acq_rel, memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&choice, &right, 1, memory_order_acq_rel, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    atomic_fetch_add(&number, 1);
    atomic_store_explicit(&flag, 1, memory_order_release);
    atomic_fetch_add(&number, 0);
    atomic_thread_fence(memory_order_seq_cst);
    pthread_join(worker, 0);
    return plain != 1 || atomic_load_explicit(&choice, memory_order_acquire) != 1;
}
