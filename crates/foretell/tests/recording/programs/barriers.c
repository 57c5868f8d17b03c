#include <pthread.h>
#include <semaphore.h>

int turn;
pthread_barrier_t barrier;
sem_t semaphore;

static void *work(void *arg)
{
    for (int i = 0; i < 2; i++)
        pthread_barrier_wait(&barrier);
    sem_wait(&semaphore);
    turn++;
    sem_post(&semaphore);
    return arg;
}

int main(void)
{
    pthread_t one, two;
    pthread_barrier_init(&barrier, 0, 3);
    sem_init(&semaphore, 0, 1);
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_barrier_wait(&barrier);
    pthread_join(one, 0);
    pthread_join(two, 0);
    sem_wait(&semaphore);
    return sem_trywait(&semaphore) == 0;
}
