#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int before_installing, before_sending, before_timer, before_waiting, racy;
volatile sig_atomic_t handled, alarms;
sem_t ready;

static void on_signal(int number)
{
    handled += before_installing + before_sending;
    racy = number;
}

static void on_alarm(int number)
{
    alarms += before_timer + (number == SIGALRM);
}

static void *target(void *arg)
{
    sem_post(&ready);
    while (handled == 0)
        usleep(100);
    return arg;
}

static void *waiter(void *set)
{
    int number = 0;
    sigwait(set, &number);
    return (void *)(long)(before_waiting + (number == SIGUSR2));
}

int main(void)
{
    pthread_t one, two;
    sigset_t set;
    void *waited;
    sem_init(&ready, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&one, 0, target, 0);
    pthread_create(&two, 0, waiter, &set);
    while (sem_wait(&ready) != 0 && errno == EINTR)
        ;
    before_installing = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, 0);
    before_sending = 1;
    pthread_kill(one, SIGUSR1);
    racy = -1;
    before_waiting = 1;
    pthread_kill(two, SIGUSR2);
    pthread_join(one, 0);
    pthread_join(two, &waited);
    signal(SIGALRM, on_alarm);
    before_timer = 1;
    struct itimerval soon = {{0, 0}, {0, 2000}};
    setitimer(ITIMER_REAL, &soon, 0);
    while (alarms == 0)
        usleep(100);
    printf("%d %d %ld\n", (int)handled, (int)alarms, (long)waited);
    return 0;
}
