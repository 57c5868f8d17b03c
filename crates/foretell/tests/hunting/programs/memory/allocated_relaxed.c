/* The address of a block is published by a relaxed store: whoever uses it is not ordered after the allocation. */
#include <pthread.h>
#include <stdlib.h>
#ifdef FIXED
#define PUBLISH __ATOMIC_RELEASE
#define LOOK __ATOMIC_ACQUIRE
#else
#define PUBLISH __ATOMIC_RELAXED
#define LOOK __ATOMIC_RELAXED
#endif

static int *given;

static void *fills(void *unused)
{
    int *place;
    while (!(place = __atomic_load_n(&given, LOOK)))
        ;
    *place = 42;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fills, NULL);
    __atomic_store_n(&given, malloc(sizeof *given), PUBLISH);
    pthread_join(thread, NULL);
    return 0;
}
