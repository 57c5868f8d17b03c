// Main waits in a loop for the answer to its call; the other thread answers whatever it finds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int called, answered;

static void *answer(void *unused)
{
    int early = atomic_load(&called) == 0;
    atomic_store(&answered, early ? 1 : 2);
    return unused;
}

int main(void)
{
    pthread_t listener;

    pthread_create(&listener, NULL, answer, NULL);
    atomic_store(&called, 1);
    while (atomic_load(&answered) == 0)
        ;
    pthread_join(listener, NULL);
    assert(atomic_load(&answered) != 0);
    puts("answered");
    return 0;
}
