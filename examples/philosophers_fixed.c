/* Five philosophers at a round table, with a fork between every two of them. To eat takes two forks. The last one
 * reaches for the right fork first.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define SEATS 5

static pthread_mutex_t forks[SEATS];
static int meals[SEATS];

static void *philosopher(void *argument)
{
    int seat = (int)(intptr_t)argument;
    int left = seat, right = (seat + 1) % SEATS;
    pthread_mutex_t *first = &forks[left < right ? left : right];
    pthread_mutex_t *second = &forks[left < right ? right : left];

    usleep(5000 * seat); /* thinks */
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    meals[seat] = 1;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

int main(void)
{
    pthread_t guests[SEATS];
    int eaten = 0;

    for (int seat = 0; seat < SEATS; seat++)
        pthread_mutex_init(&forks[seat], NULL);
    for (intptr_t seat = 0; seat < SEATS; seat++)
        pthread_create(&guests[seat], NULL, philosopher, (void *)seat);
    for (int seat = 0; seat < SEATS; seat++)
        pthread_join(guests[seat], NULL);

    for (int seat = 0; seat < SEATS; seat++)
        eaten += meals[seat];
    printf("%d meals eaten\n", eaten);
    return 0;
}
