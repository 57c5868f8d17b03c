#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal)
{
    (void)signal;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return 0;
}
