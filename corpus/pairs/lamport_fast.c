/* Correct: Lamport's fast lock for two threads; a thread that has to wait gives up after two looks, so the
 * behaviours can be counted. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKS = 2 };

enum { NOBODY = -1 };

static atomic_int busy[2], first, second = NOBODY;
static int counter, entries[2];

static int await_idle(int other)
{
    for (int look = 0; look < LOOKS; look++) {
        if (!atomic_load(&busy[other]))
            return 1;
    }
    return 0;
}

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
    return await_idle(1 - me) && atomic_load(&second) == me;
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
