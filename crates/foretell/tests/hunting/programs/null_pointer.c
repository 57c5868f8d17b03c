/* Crashes in every schedule. */
#include <pthread.h>

static volatile int *nowhere;

static void *touch(void *unused)
{
    *nowhere = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, touch, NULL);
    pthread_join(thread, NULL);
    return 0;
}
