#include <pthread.h>

static void *ends(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_detach(thread);
    pthread_join(thread, NULL);
    return 0;
}
