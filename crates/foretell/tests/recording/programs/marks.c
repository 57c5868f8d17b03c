#define _GNU_SOURCE
#include <foretell.h>
#include <pthread.h>

static void *work(void *arg)
{
    pthread_setname_np(pthread_self(), "worker");
    FORETELL_ATOMIC_BEGIN("transfer");
    FORETELL_MARK("open", 1);
    FORETELL_ATOMIC_END("transfer");
    FORETELL_MARK("open", -1);
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    pthread_join(worker, 0);
    return 0;
}
