#include <pthread.h>
#include <unistd.h>

int racy;

static void *run(void *arg)
{
    racy = 1;
    return arg;
}

int main(void)
{
    pthread_t thread;
    write(1, "said\n", 5);
    pthread_create(&thread, 0, run, 0);
    write(1, "more\n", 5);
    racy = 2;
    pthread_join(thread, 0);
    return 0;
}
