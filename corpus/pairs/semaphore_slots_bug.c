/* Wrong: the guard starts with two permits, so two producers can write the same slot. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { SLOTS = 2, ITEMS = 2 };

static sem_t free_slots, full_slots, guard;
static int ring[SLOTS], head, tail, sum;

static void *produce(void *item)
{
    sem_wait(&free_slots);
    sem_wait(&guard);
    ring[tail % SLOTS] = *(int *)item;
    tail++;
    sem_post(&guard);
    sem_post(&full_slots);
    return NULL;
}

static void consume(void)
{
    sem_wait(&full_slots);
    sem_wait(&guard);
    sum += ring[head % SLOTS];
    head++;
    sem_post(&guard);
    sem_post(&free_slots);
}

int main(void)
{
    pthread_t producers[ITEMS];
    int items[ITEMS] = {3, 4};

    sem_init(&free_slots, 0, SLOTS);
    sem_init(&full_slots, 0, 0);
    sem_init(&guard, 0, 2);
    for (int i = 0; i < ITEMS; i++)
        pthread_create(&producers[i], NULL, produce, &items[i]);
    for (int i = 0; i < ITEMS; i++)
        consume();
    for (int i = 0; i < ITEMS; i++)
        pthread_join(producers[i], NULL);
    assert(sum == 7);
    printf("sum %d\n", sum);
    return 0;
}
