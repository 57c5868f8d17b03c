// The main thread waits until both workers are done. Each of them signals; a signal that comes before the main thread waits again wakes
// nobody, but there is another to come, or nothing to wait for.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int working = 2;

static void *work(void *nothing)
{
    pthread_mutex_lock(&lock);
    working--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, work, NULL);
    pthread_create(&threads[1], NULL, work, NULL);
    pthread_mutex_lock(&lock);
    while (working)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
