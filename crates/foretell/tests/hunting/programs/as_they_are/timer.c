// A timer whose function runs in a thread of the C library's.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_int fired;
static int shared;

static void fire(union sigval value)
{
    (void)value;
    shared++;
    fired = 1;
}

int main(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fire};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    shared++;
    while (!fired)
        usleep(1000);
    printf("%d\n", shared);
    return 0;
}
