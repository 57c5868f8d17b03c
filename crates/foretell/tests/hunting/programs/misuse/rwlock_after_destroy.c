#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_rwlock_t *lock = malloc(sizeof *lock);
    pthread_rwlock_init(lock, NULL);
    pthread_rwlock_destroy(lock);
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    free(lock);
    return 0;
}
