// One thread destroys the semaphore that another may still wait for.
#include <pthread.h>
#include <semaphore.h>

static sem_t permits;

static void *takes(void *unused)
{
    sem_wait(&permits);
    return unused;
}

static void *destroys(void *unused)
{
    sem_destroy(&permits);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    sem_init(&permits, 0, 1);
    pthread_create(&first, NULL, takes, NULL);
    pthread_create(&second, NULL, destroys, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
