// 300 threads at a time, and thousands one after another; detached ones, names, thread-local destructors.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t key;
pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
int sum, destroyed;
static void destroy(void *value) {
    pthread_mutex_lock(&lock);
    destroyed++;
    pthread_cond_signal(&finished);
    pthread_mutex_unlock(&lock);
}
static void *run(void *argument) {
    pthread_setspecific(key, argument);
    pthread_mutex_lock(&lock);
    sum += (long)argument;
    pthread_mutex_unlock(&lock);
    if ((long)argument % 3 == 0) pthread_exit(argument);
    return argument;
}
int main(int count, char **arguments) {
    static pthread_t threads[300];
    int later = count > 1 ? atoi(arguments[1]) : 0;
    pthread_key_create(&key, destroy);
    // No thread can end before all are there and one has a name: a thread that has ended cannot be named.
    pthread_mutex_lock(&lock);
    for (long i = 0; i < 300; i++) pthread_create(&threads[i], 0, run, (void *)(i + 1));
    if (pthread_setname_np(threads[7], "seven") != 0) return 2;
    pthread_mutex_unlock(&lock);
    for (long i = 0; i < 300; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if ((long)result != i + 1) return 1;
    }
    for (int i = 0; i < later; i++) {
        pthread_create(&threads[0], 0, run, (void *)1);
        if (i & 1) pthread_join(threads[0], 0); else pthread_detach(threads[0]);
    }
    // Detached threads cannot be joined: the last thing each does that counts is to destroy its value.
    pthread_mutex_lock(&lock);
    while (destroyed < 300 + later) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    printf("%d %d\n", sum - later, destroyed);
    return 0;
}
