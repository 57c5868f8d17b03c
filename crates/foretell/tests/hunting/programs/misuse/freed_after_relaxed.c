// A relaxed flag says that the other thread is done with the memory, but does not order what it did.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int done;

static void *use(void *argument) {
    *(int *)argument = 1;
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return NULL;
}

int main(void) {
    int *memory = malloc(sizeof(int));
    pthread_t thread;
    pthread_create(&thread, NULL, use, memory);
    while (atomic_load_explicit(&done, memory_order_relaxed) == 0) {
        sched_yield();
    }
    free(memory);
    pthread_join(thread, NULL);
    return 0;
}
