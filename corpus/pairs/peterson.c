/* Correct: Peterson's lock for two threads; a thread that finds it taken gives up after two looks, so the
 * behaviours can be counted. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKS = 2 };

static atomic_int wants[2], turn;
static int counter, entries[2];

static int enter(int me)
{
    int other = 1 - me;

    atomic_store(&wants[me], 1);
    atomic_store(&turn, other);
    for (int look = 0; look < LOOKS; look++) {
        if (!atomic_load(&wants[other]) || atomic_load(&turn) == me)
            return 1;
    }
    atomic_store(&wants[me], 0);
    return 0;
}

static void leave(int me)
{
    atomic_store(&wants[me], 0);
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
