// expect: none
// allow: atomicity
// The semaphore has one permit.
#include <semaphore.h>
#include <stdatomic.h>

#include "../../include/foretell.h"
#include "../scenarios/scenario.h"

#define PERMITS 1

static sem_t key;
static atomic_int inside, crowded;

static void *visit(void *argument)
{
    nap((int)(intptr_t)argument);
    sem_wait(&key);
    FORETELL_MARK("open", +1);
    if (atomic_fetch_add(&inside, 1) != 0)
        atomic_store(&crowded, 1);
    atomic_fetch_sub(&inside, 1);
    FORETELL_MARK("open", -1);
    sem_post(&key);
    return NULL;
}

int main(void)
{
    sem_init(&key, 0, PERMITS);
    pthread_t threads[] = {start(visit, (void *)0), start(visit, (void *)0)};

    finish(threads[0]);
    finish(threads[1]);
    puts(atomic_load(&crowded) ? "two at once" : "one at a time");
    return atomic_load(&crowded);
}
