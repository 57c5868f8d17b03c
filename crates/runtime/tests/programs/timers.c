// The kernel's timers run in real time: what they say is over is over by the clock as well. Fails at the line of what is wrong.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
    do \
        if (!(what)) \
            _exit(__LINE__); \
    while (0)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static volatile sig_atomic_t rings;
static void ring(int signal) { rings += signal == SIGALRM; }

int main(void)
{
    double begin = now();
    sleep(5);
    CHECK(now() - begin >= 5 && now() - begin < 5.1);
    signal(SIGALRM, ring);
    begin = now();
    struct itimerval timer = {{0, 0}, {0, 200000}};
    setitimer(ITIMER_REAL, &timer, 0);
    while (!rings)
        ;
    CHECK(now() - begin >= 0.2);
    begin = now();
    setitimer(ITIMER_REAL, &timer, 0);
    // A sleep that the signal ends.
    struct timespec long_time = {30, 0}, rest = {0, 0};
    CHECK(nanosleep(&long_time, &rest) == -1 && rings == 2);
    double slept = now() - begin, left = rest.tv_sec + rest.tv_nsec / 1e9;
    CHECK(slept >= 0.2 && slept < 20 && left + slept > 29.9 && left + slept < 40);
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t count;
    struct itimerspec setting = {{0, 0}, {0, 100000000}};
    begin = now();
    timerfd_settime(file, 0, &setting, 0);
    CHECK(read(file, &count, 8) == 8 && now() - begin >= 0.1);
    begin = now();
    clock_gettime(CLOCK_MONOTONIC, &setting.it_value);
    setting.it_value.tv_nsec += 100000000;
    if (setting.it_value.tv_nsec >= 1000000000)
        setting.it_value.tv_nsec -= 1000000000, setting.it_value.tv_sec++;
    timerfd_settime(file, TFD_TIMER_ABSTIME, &setting, 0);
    CHECK(read(file, &count, 8) == 8 && now() - begin >= 0.1 && now() - begin < 4);
    return 0;
}
