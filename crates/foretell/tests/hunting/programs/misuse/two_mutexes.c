#include <pthread.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *with)
{
    pthread_mutex_t *lock = with;
    pthread_mutex_lock(lock);
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
        pthread_cond_wait(&changed, lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, waits, &one);
    pthread_create(&second, NULL, waits, &other);
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&other);
    __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
