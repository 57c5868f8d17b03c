#include <pthread.h>

/* Sixteen bytes at a time, as compilers call it. */
typedef unsigned __int128 wide;
int __tsan_atomic128_compare_exchange_strong(wide *cell, wide *expected, wide desired, int success, int failure);
int __tsan_atomic128_compare_exchange_weak(wide *cell, wide *expected, wide desired, int success, int failure);
wide __tsan_atomic128_compare_exchange_val(wide *cell, wide expected, wide desired, int success, int failure);

#define BOTH(high, low) (((wide)(high) << 64) | (low))

wide pair = BOTH(1, 2);
int wrong;

static void *work(void *arg)
{
    wide expected = BOTH(2, 2);
    wrong += __tsan_atomic128_compare_exchange_strong(&pair, &expected, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) != 0;
    wrong += expected != BOTH(1, 2);
    expected = BOTH(1, 3);
    wrong += __tsan_atomic128_compare_exchange_weak(&pair, &expected, 0, __ATOMIC_RELAXED, __ATOMIC_ACQUIRE) != 0;
    wrong += __tsan_atomic128_compare_exchange_val(&pair, BOTH(1, 0), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) != BOTH(1, 2);
    wrong += __tsan_atomic128_compare_exchange_val(&pair, BOTH(0, 2), 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE) != BOTH(1, 2);
    wrong += __tsan_atomic128_compare_exchange_val(&pair, BOTH(1, 2), BOTH(3, 4), __ATOMIC_RELEASE, __ATOMIC_RELAXED) != BOTH(1, 2);
    expected = BOTH(3, 4);
    wrong += __tsan_atomic128_compare_exchange_strong(&pair, &expected, BOTH(5, 6), __ATOMIC_RELAXED, __ATOMIC_RELAXED) != 1;
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    pthread_join(worker, 0);
    return wrong || __tsan_atomic128_compare_exchange_val(&pair, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) != BOTH(5, 6);
}
