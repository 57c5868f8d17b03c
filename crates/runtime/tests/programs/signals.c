// Signals to a thread that computes, to one that waits, and a handler that wakes another thread.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
sem_t arrived;
volatile int handled, stop;
long work;
static void on(int signal) { handled++; sem_post(&arrived); }
static void *run(void *argument) { while (!stop) work++; return 0; }
int main(void) {
    struct sigaction action = {.sa_handler = on}, old;
    pthread_t thread;
    sem_init(&arrived, 0, 0);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR1, 0, &old);
    if (old.sa_handler != on) return 1;
    pthread_create(&thread, 0, run, 0);
    for (int i = 0; i < 20; i++) {
        pthread_kill(i & 1 ? thread : pthread_self(), SIGUSR1);
        while (sem_wait(&arrived) && errno == EINTR) ;
    }
    signal(SIGALRM, on);
    ualarm(20000, 0);
    while (sem_wait(&arrived) && errno == EINTR) ;
    stop = 1;
    pthread_join(thread, 0);
    printf("%d\n", handled);
    return 0;
}
