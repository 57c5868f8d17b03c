// Wrong: the other thread answers only if it was not called yet, so main may wait in its loop forever.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int called, answered;

static void *answer(void *unused)
{
    if (atomic_load(&called) == 0)
        atomic_store(&answered, 1);
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
    assert(atomic_load(&answered) == 1);
    puts("answered");
    return 0;
}
