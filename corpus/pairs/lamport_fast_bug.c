/* Wrong: Lamport's fast lock without the wait for the other thread to be idle: it can be past its first check
 * of `second` and still write it, after this thread found its own number there and entered. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { NOBODY = -1 };

static atomic_int busy[2], first, second = NOBODY;
static int counter, entries[2];

static int enter(int me)
{
    atomic_store(&busy[me], 1);
    atomic_store(&first, me);
    if (atomic_load(&second) != NOBODY) {
        atomic_store(&busy[me], 0);
        return 0;
    }
    atomic_store(&second, me);
    if (atomic_load(&first) == me)
        return 1;
    atomic_store(&busy[me], 0);
    return atomic_load(&second) == me;
}

static void leave(int me)
{
    atomic_store(&second, NOBODY);
    atomic_store(&busy[me], 0);
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;

    if (enter(me)) {
        counter++;
        entries[me] = 1;
        leave(me);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(counter == entries[0] + entries[1]);
    puts("no entry was lost");
    return 0;
}
