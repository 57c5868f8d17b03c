/* Accesses that the program does not want to be looked at: the compiler leaves them out. */
#include <pthread.h>

static int statistic;

#ifdef FIXED
__attribute__((no_sanitize("thread"), noinline))
#else
__attribute__((noinline))
#endif
static void count(void)
{
    (*(volatile int *)&statistic)++;
}

static void *works(void *unused)
{
    count();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    count();
    pthread_join(thread, NULL);
    return 0;
}
