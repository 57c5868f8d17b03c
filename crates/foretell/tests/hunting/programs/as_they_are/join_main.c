// A thread waits for the first one, and goes on with its data.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_t first;
static int value;

static void *last(void *argument)
{
    pthread_join(first, NULL);
    value++;
    printf("%d\n", value);
    exit(0);
    return argument;
}

int main(void)
{
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, last, NULL);
    value = 1;
    pthread_exit(NULL);
}
