#include <pthread.h>

int shared, spun;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;

static void *work(void *arg)
{
    pthread_rwlock_rdlock(&lock);
    long seen = shared;
    pthread_rwlock_unlock(&lock);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    return seen ? arg : 0;
}

int main(void)
{
    pthread_t reader;
    pthread_spin_init(&spin, 0);
    pthread_create(&reader, 0, work, 0);
    pthread_rwlock_wrlock(&lock);
    shared = 1;
    pthread_rwlock_unlock(&lock);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    pthread_join(reader, 0);
    return 0;
}
