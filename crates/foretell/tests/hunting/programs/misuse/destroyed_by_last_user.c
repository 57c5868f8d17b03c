// Each user gives the lock back, and the last one destroys it: POSIX allows that.
#include <pthread.h>
#include <stdlib.h>

static struct shared {
    pthread_mutex_t lock;
    int users;
} *shared;

static void *uses(void *unused)
{
    pthread_mutex_lock(&shared->lock);
    int is_last = --shared->users == 0;
    pthread_mutex_unlock(&shared->lock);
    if (is_last) {
        pthread_mutex_destroy(&shared->lock);
        free(shared);
    }
    return unused;
}

int main(void)
{
    pthread_t first, second;
    shared = malloc(sizeof *shared);
    pthread_mutex_init(&shared->lock, NULL);
    shared->users = 2;
    pthread_create(&first, NULL, uses, NULL);
    pthread_create(&second, NULL, uses, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
