#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static sem_t permits;

static void handle(int signal) {
    (void)signal;
}

static void *take(void *argument) {
    assert(sem_wait(&permits) == 0);
    return argument;
}

int main(void) {
    struct sigaction action = {0};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, 0);
    sem_init(&permits, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, take, 0);
    pthread_kill(thread, SIGUSR1);
    sem_post(&permits);
    pthread_join(thread, 0);
    return 0;
}
