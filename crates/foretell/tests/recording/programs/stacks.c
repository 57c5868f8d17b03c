#include <pthread.h>

int shared;

__attribute__((noinline)) static void inner(void)
{
    shared++;
}

__attribute__((noinline)) static void middle(void)
{
    inner();
    __asm__ volatile("");
}

static void *work(void *arg)
{
    return shared > 1 ? arg : 0;
}

int main(void)
{
    pthread_t worker;
    middle();
    pthread_create(&worker, 0, work, 0);
    pthread_join(worker, 0);
    return 0;
}
