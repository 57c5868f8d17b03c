// An error-checking mutex refuses to be unlocked by a thread that does not hold it.
#include <pthread.h>

static pthread_mutex_t gate;

static void *opens(void *unused)
{
    pthread_mutex_unlock(&gate);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&gate, &attributes);
    pthread_mutex_lock(&gate);
    pthread_create(&thread, NULL, opens, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&gate);
    pthread_mutex_destroy(&gate);
    return 0;
}
