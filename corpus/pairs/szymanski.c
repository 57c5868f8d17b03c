/* Correct: Szymanski's lock for two threads; a thread that has to wait gives up after two looks, so the
 * behaviours can be counted. Each enters once, so nobody has to wait when leaving. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKS = 2 };

enum { OUTSIDE, WANTS, WAITS, IN_DOORWAY, CLOSED_DOOR };

static atomic_int place[2];
static int counter, entries[2];

static int give_up(int me)
{
    atomic_store(&place[me], OUTSIDE);
    return 0;
}

/* Looks at the other thread's place until it is one of `low` to `high`. */
static int await_place(int other, int low, int high)
{
    for (int look = 0; look < LOOKS; look++) {
        int theirs = atomic_load(&place[other]);

        if (theirs >= low && theirs <= high)
            return 1;
    }
    return 0;
}

static int enter(int me)
{
    int other = 1 - me;

    atomic_store(&place[me], WANTS);
    if (!await_place(other, OUTSIDE, WAITS))
        return give_up(me);
    atomic_store(&place[me], IN_DOORWAY);
    if (atomic_load(&place[other]) == WANTS) {
        atomic_store(&place[me], WAITS);
        if (!await_place(other, CLOSED_DOOR, CLOSED_DOOR))
            return give_up(me);
    }
    atomic_store(&place[me], CLOSED_DOOR);
    if (me == 1 && !await_place(0, OUTSIDE, WANTS))
        return give_up(me);
    return 1;
}

static void leave(int me)
{
    atomic_store(&place[me], OUTSIDE);
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
