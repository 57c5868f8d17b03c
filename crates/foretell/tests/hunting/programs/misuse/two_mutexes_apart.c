// Two threads wait for one condition variable with a mutex each; the second one begins when the first has been told to go on.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready[2];

static void *waits(void *number)
{
    int mine = number != NULL;
    pthread_mutex_lock(&locks[mine]);
    while (!ready[mine])
        pthread_cond_wait(&changed, &locks[mine]);
    pthread_mutex_unlock(&locks[mine]);
    return NULL;
}

static void tell(int number)
{
    usleep(100000);
    pthread_mutex_lock(&locks[number]);
    ready[number] = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&locks[number]);
    usleep(100000);
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, waits, NULL);
    tell(0);
    pthread_create(&second, NULL, waits, ready);
    tell(1);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
