/* Five philosophers at a round table, with a fork between every two of them. To eat takes two forks. They do not all get
 * hungry at once.
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
    pthread_mutex_t *left = &forks[seat];
    pthread_mutex_t *right = &forks[(seat + 1) % SEATS];

    usleep(5000 * seat); /* thinks */
    pthread_mutex_lock(left);
    pthread_mutex_lock(right);
    meals[seat] = 1;
    pthread_mutex_unlock(right);
    pthread_mutex_unlock(left);
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
