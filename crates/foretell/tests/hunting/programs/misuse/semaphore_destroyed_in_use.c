#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t permits;

static void *takes(void *unused)
{
    sem_wait(&permits);
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&permits, 0, 0);
    pthread_create(&thread, NULL, takes, NULL);
    usleep(100000);
    sem_destroy(&permits);
    sem_post(&permits);
    pthread_join(thread, NULL);
    return 0;
}
