/* A thread may look at a field that the one who allocated the block has not filled yet. */
#include <pthread.h>
#include <stdlib.h>

struct order {
    int number;
    int price;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct order *latest;
static int total;

static void *places(void *unused)
{
    struct order *order = malloc(sizeof *order);
    order->number = 1;
#ifdef FIXED
    order->price = 7;
#endif
    pthread_mutex_lock(&lock);
    latest = order;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    pthread_mutex_lock(&lock);
    order->price = 7;
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, places, NULL);
    pthread_mutex_lock(&lock);
    if (latest)
        total += latest->price;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    free(latest);
    return total > 7;
}
