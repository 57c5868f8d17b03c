/* Correct: a slot of the hash table is taken by compare-and-swap, so no word overwrites another. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { SLOTS = 4, THREADS = 4 };

static atomic_int table[SLOTS];

static void insert(int word)
{
    int slot = word / 2 % SLOTS;

    for (;;) {
        int empty = 0;

        if (atomic_compare_exchange_strong(&table[slot], &empty, word))
            return;
        slot = (slot + 1) % SLOTS;
    }
}

static void *index_word(void *argument)
{
    insert((int)(intptr_t)argument);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int sum = 0;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, index_word, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int slot = 0; slot < SLOTS; slot++)
        sum += atomic_load(&table[slot]);
    assert(sum == 1 + 2 + 3 + 4);
    printf("sum of the words %d\n", sum);
    return 0;
}
