#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int before_create, before_set, in_thread, in_handler;
sem_t done;

static void in_a_thread(union sigval value)
{
    in_thread = before_create + before_set + value.sival_int;
    sem_post(&done);
}

static void handler(int number, siginfo_t *info, void *context)
{
    in_handler = before_set + info->si_value.sival_int;
    sem_post(&done);
}

static void wait_until_done(void)
{
    while (sem_wait(&done) != 0)
        ;
}

int main(void)
{
    timer_t starts_threads, sends_signals;
    struct itimerspec soon = {{0, 0}, {0, 2000000}};
    struct sigevent event;
    struct sigaction action;
    sem_init(&done, 0, 0);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = in_a_thread;
    event.sigev_value.sival_int = 7;
    before_create = 1;
    timer_create(CLOCK_MONOTONIC, &event, &starts_threads);
    before_set = 1;
    timer_settime(starts_threads, 0, &soon, 0);
    wait_until_done();
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN + 1, &action, 0);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 1;
    timer_create(CLOCK_MONOTONIC, &event, &sends_signals);
    timer_settime(sends_signals, 0, &soon, 0);
    wait_until_done();
    printf("%d %d\n", in_thread, in_handler);
    return 0;
}
