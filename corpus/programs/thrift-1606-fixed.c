/* Reconstruction, named for THRIFT-1606. The report was not at hand: this has the shape that paper 1's table gives (one variable,
 * two writes, a read, no lock). Fixed by saying that the thread starts before it is created. */
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
