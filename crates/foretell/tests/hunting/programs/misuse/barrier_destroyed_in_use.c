#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t meeting;

static void *arrives(void *unused)
{
    pthread_barrier_wait(&meeting);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, arrives, NULL);
    usleep(100000);
    /* glibc waits here until nobody is inside, so this never returns. */
    pthread_barrier_destroy(&meeting);
    return 0;
}
