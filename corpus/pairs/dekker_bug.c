/* Wrong: Dekker's lock with the flag raised after the look at the other's flag: both can find the other's
 * flag down and enter. */
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

    for (int look = 0; look < LOOKS; look++) {
        if (!atomic_load(&wants[other])) {
            atomic_store(&wants[me], 1);
            return 1;
        }
        if (atomic_load(&turn) == other)
            return 0;
    }
    atomic_store(&wants[me], 0);
    return 0;
}

static void leave(int me)
{
    atomic_store(&turn, 1 - me);
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
