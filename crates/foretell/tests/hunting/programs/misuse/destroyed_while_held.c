// The lock is destroyed as soon as its user says that it is done, which it says before it gives the lock back.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock;
static atomic_int done;
static int work;

static void *uses(void *unused)
{
    pthread_mutex_lock(&lock);
    work++;
    atomic_store(&done, 1);
    pthread_mutex_unlock(&lock);
#ifdef FIXED
    atomic_store(&done, 2);
#endif
    return unused;
}

int main(void)
{
    pthread_t user;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&user, NULL, uses, NULL);
#ifdef FIXED
    while (atomic_load(&done) < 2)
        ;
#else
    while (!atomic_load(&done))
        ;
#endif
    pthread_mutex_destroy(&lock);
    pthread_join(user, NULL);
    return 0;
}
