/* Reconstruction, named for THRIFT-1606. The report was not at hand: this has the shape that paper 1's table gives (one variable,
 * two writes, a read, no lock). Whoever starts a thread says so only after it was created, when the new thread may
 * already have looked at its state. */
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
    pthread_create(&thread, NULL, thread_main, NULL);
    state = STARTING;
    pthread_join(thread, NULL);
    return 0;
}
