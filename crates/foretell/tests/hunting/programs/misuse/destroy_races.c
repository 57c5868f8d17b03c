// One thread destroys a lock that another may still be about to take.
#include <pthread.h>

static pthread_mutex_t lock;

static void *uses(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *destroys(void *unused)
{
    pthread_mutex_destroy(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&first, NULL, uses, NULL);
    pthread_create(&second, NULL, destroys, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
