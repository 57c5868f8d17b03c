/* A cinema with two box offices. A sale keeps the seating plan locked from the look at the free seats to
 * the change of their number.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t plan = PTHREAD_MUTEX_INITIALIZER;
static int free_seats = 40;

static int get_free_seats(void)
{
    int seats;

    pthread_mutex_lock(&plan);
    seats = free_seats;
    pthread_mutex_unlock(&plan);
    return seats;
}

static void sell_ticket(void)
{
    pthread_mutex_lock(&plan);
    if (free_seats > 0)
        free_seats--;
    pthread_mutex_unlock(&plan);
}

static void *box_office(void *unused)
{
    sell_ticket();
    return unused;
}

static void *late_box_office(void *unused)
{
    usleep(20000); /* opens a little later */
    return box_office(unused);
}

int main(void)
{
    pthread_t offices[2];
    int left;

    pthread_create(&offices[0], NULL, box_office, NULL);
    pthread_create(&offices[1], NULL, late_box_office, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(offices[i], NULL);

    left = get_free_seats();
    printf("2 tickets sold, %d seats left\n", left);
    return left == 38 ? 0 : 1;
}
