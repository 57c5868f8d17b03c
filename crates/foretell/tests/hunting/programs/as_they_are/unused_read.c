// Nobody uses what the thread reads, so an optimising compiler removes the read.
#include <pthread.h>

static int shared;

static void *reader(void *argument)
{
    int copy = shared;
    (void)copy;
    return argument;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    shared = 1;
    pthread_join(thread, NULL);
    return 0;
}
