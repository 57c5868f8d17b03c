#include <pthread.h>

int whole;

static void *work(void *arg)
{
    ((volatile char *)&whole)[2] = 1;
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    whole = 7;
    pthread_join(worker, 0);
    return 0;
}
