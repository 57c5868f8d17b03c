/* A cinema with two box offices. Whoever looks at the number of free seats, or changes it, locks the seating plan. */
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

static void set_free_seats(int seats)
{
    pthread_mutex_lock(&plan);
    free_seats = seats;
    pthread_mutex_unlock(&plan);
}

static void sell_ticket(void)
{
    int seats = get_free_seats();

    if (seats > 0)
        set_free_seats(seats - 1);
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
