/* Correct: a ticket lock; tickets are drawn in one step, and a thread that has to wait gives up after two
 * looks. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKS = 2 };

static atomic_int next_ticket, serving;
static int counter, entries[2];

static int enter(int *ticket)
{
    *ticket = atomic_fetch_add(&next_ticket, 1);
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load(&serving) == *ticket)
            return 1;
    }
    return 0;
}

static void leave(int ticket)
{
    atomic_store(&serving, ticket + 1);
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    int ticket;

    if (enter(&ticket)) {
        counter++;
        entries[me] = 1;
        leave(ticket);
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
