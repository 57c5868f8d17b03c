/* The seat is checked in one critical section and taken in another: two people may get the last one. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static int seats = 1;

static void *reserve(void *unused)
{
    pthread_mutex_lock(&desk);
    int is_free = seats > 0;
    pthread_mutex_unlock(&desk);
    if (is_free) {
        pthread_mutex_lock(&desk);
        seats--;
        pthread_mutex_unlock(&desk);
    }
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, reserve, NULL);
    pthread_create(&second, NULL, reserve, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(seats >= 0);
    return 0;
}
