#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

pthread_mutex_t tried, waited_for;
int after_try, after_wait, results;

static void *dies(void *arg)
{
    pthread_mutex_lock(&tried);
    after_try = 1;
    pthread_mutex_lock(&waited_for);
    after_wait = 1;
    return arg;
}

static void *waits(void *arg)
{
    if (pthread_mutex_lock(&waited_for) == EOWNERDEAD) {
        pthread_mutex_consistent(&waited_for);
        results++;
    }
    after_wait++;
    pthread_mutex_unlock(&waited_for);
    return arg;
}

int main(void)
{
    pthread_t dying, waiting;
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&tried, &robust);
    pthread_mutex_init(&waited_for, &robust);
    pthread_create(&dying, 0, dies, 0);
    sleep(1);
    pthread_create(&waiting, 0, waits, 0);
    int result = pthread_mutex_trylock(&tried);
    after_try = 2;
    pthread_join(waiting, 0);
    pthread_join(dying, 0);
    printf("%d %d\n", result == EOWNERDEAD, results);
    return 0;
}
