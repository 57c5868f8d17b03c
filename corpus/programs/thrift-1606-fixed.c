/* Reconstruction, modelled on THRIFT-1606, a race in the C++ thread factory: fixed by saying
 * that the thread starts before it is created. */
#include <pthread.h>
#include <stdio.h>

enum state { UNINITIALIZED, STARTING };

static enum state state;

static void *thread_main(void *unused)
{
    (void)unused;
    if (state != STARTING)
        puts("the thread gives up: nobody started it");
    return NULL;
}

int main(void)
{
    pthread_t thread;

    state = UNINITIALIZED;
    state = STARTING;
    pthread_create(&thread, NULL, thread_main, NULL);
    pthread_join(thread, NULL);
    return 0;
}
