/* Correct: two threads add the numbers to each other, three times each; in no order do they pass 21, the
 * eighth Fibonacci number. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 3, LIMIT = 21 };

static atomic_int left = 1, right = 1;

static void *add_to_left(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        atomic_store(&left, atomic_load(&left) + atomic_load(&right));
    return unused;
}

static void *add_to_right(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        atomic_store(&right, atomic_load(&right) + atomic_load(&left));
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, add_to_left, NULL);
    pthread_create(&threads[1], NULL, add_to_right, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&left) <= LIMIT);
    assert(atomic_load(&right) <= LIMIT);
    puts("within the limit");
    return 0;
}
