#include <pthread.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *opens(void *unused)
{
    pthread_mutex_unlock(&gate);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&gate);
    pthread_create(&thread, NULL, opens, NULL);
    pthread_join(thread, NULL);
    return 0;
}
