// Threads that are cancelled while they wait in several ways, and clean up after themselves.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
sem_t zero;
int cleaned, ends[2];
static void clean(void *mutex) {
    cleaned++;
    if (mutex) pthread_mutex_unlock(mutex);
}
static void *run(void *how) {
    char byte;
    if ((long)how == 0) {
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(clean, &lock);
        for (;;) pthread_cond_wait(&never, &lock);
        pthread_cleanup_pop(0);
    }
    pthread_cleanup_push(clean, 0);
    if ((long)how == 1) sem_wait(&zero);
    if ((long)how == 2) sleep(1000);
    if ((long)how == 3) read(ends[0], &byte, 1);
    pthread_cleanup_pop(0);
    return 0;
}
int main(void) {
    int cancelled = 0;
    sem_init(&zero, 0, 0);
    pipe(ends);
    for (long how = 0; how < 4; how++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, run, (void *)how);
        usleep(20000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d %d\n", cancelled, cleaned);
    return 0;
}
