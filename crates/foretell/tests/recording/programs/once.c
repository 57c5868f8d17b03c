#include <pthread.h>
#include <stdio.h>

static int value;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set(void)
{
    value = 42;
}

static void *work(void *arg)
{
    pthread_once(&once, set);
    *(int *)arg = value;
    return 0;
}

int main(void)
{
    pthread_t one, two;
    int a = 0, b = 0;
    pthread_create(&one, 0, work, &a);
    pthread_create(&two, 0, work, &b);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("%d %d\n", a, b);
    return 0;
}
