/* Wrong: the third thread reads the entry again after it found it zero, when it may have been set. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { COPIERS = 2 };

static atomic_int entries[COPIERS + 1];

static void *copy(void *argument)
{
    int index = (int)(intptr_t)argument;

    atomic_store(&entries[index], atomic_load(&entries[index - 1]) + 1);
    return NULL;
}

static void *find_last_zero(void *unused)
{
    int index = COPIERS;
    int entry = atomic_load(&entries[index]);

    while (index > 0 && entry != 0)
        entry = atomic_load(&entries[--index]);
    assert(atomic_load(&entries[index]) == 0);
    return unused;
}

int main(void)
{
    pthread_t threads[COPIERS + 1];

    pthread_create(&threads[0], NULL, find_last_zero, NULL);
    for (int i = 1; i <= COPIERS; i++)
        pthread_create(&threads[i], NULL, copy, (void *)(intptr_t)i);
    for (int i = 0; i <= COPIERS; i++)
        pthread_join(threads[i], NULL);
    puts("found a zero");
    return 0;
}
