/* Two threads free the same block. The C library does not notice: each thread keeps what it has freed to itself. */
#include <pthread.h>
#include <stdlib.h>

static void *message;

static void *works(void *unused)
{
#ifndef FIXED
    free(message);
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    message = malloc(24);
    pthread_create(&thread, NULL, works, NULL);
    free(message);
    pthread_join(thread, NULL);
    return 0;
}
