/* Wrong: Lamport's bakery without the choosing flags: thread 1 can enter while thread 0 has chosen the same
 * number but not yet stored it, and then thread 0 enters as well, because it is the smaller of two equals. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKS = 2 };

static atomic_int number[2];
static int counter, entries[2];

static int is_my_turn(int me, int mine)
{
    int other = 1 - me;
    int theirs = atomic_load(&number[other]);

    return theirs == 0 || mine < theirs || (mine == theirs && me < other);
}

static void leave(int me)
{
    atomic_store(&number[me], 0);
}

static int enter(int me)
{
    int mine;

    mine = 1 + atomic_load(&number[1 - me]);
    atomic_store(&number[me], mine);
    for (int look = 0; look < LOOKS; look++) {
        if (is_my_turn(me, mine))
            return 1;
    }
    leave(me);
    return 0;
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
