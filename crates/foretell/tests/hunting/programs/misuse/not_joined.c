#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static void *ends(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    usleep(100000);
    return 0;
}
