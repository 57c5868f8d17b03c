// Threads that sleep for seconds, every wait with a time limit that runs out, and loops that wait by reading the clock. Each line says how much time has
// passed by the clock.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double now(int clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void say(const char *what, int is_good)
{
    printf("%s %.2f\n", is_good ? what : "wrong", now(CLOCK_MONOTONIC) - start);
}

static void *sleeper(void *number)
{
    long length = (long)number;
    char name[] = {'T', '0' + length, 0};
    for (int i = 0; i < 3; i++) {
        sleep(length);
        say(name, 1);
    }
    return 0;
}

int main(void)
{
    start = now(CLOCK_MONOTONIC);
    double realtime = now(CLOCK_REALTIME);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, sleeper, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    say("joined", 1);

    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec += 2;
    pthread_mutex_lock(&lock);
    int result = pthread_cond_timedwait(&never, &lock, &until);
    say("condition", result == ETIMEDOUT);
    until.tv_sec += 1;
    sem_t none;
    sem_init(&none, 0, 0);
    result = sem_timedwait(&none, &until);
    say("semaphore", result == -1 && errno == ETIMEDOUT);
    poll(0, 0, 500);
    say("poll", 1);
    struct timeval half = {0, 500000};
    select(0, 0, 0, 0, &half);
    say("select", half.tv_usec == 0);
    struct timespec second = {1, 0};
    syscall(SYS_nanosleep, &second, 0);
    say("by hand", 1);
    clock_gettime(CLOCK_MONOTONIC, &second);
    second.tv_sec += 1;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &second, 0);
    say("absolute", 1);

    struct timeval begin, end;
    gettimeofday(&begin, 0);
    do
        gettimeofday(&end, 0);
    while (end.tv_sec - begin.tv_sec + (end.tv_usec - begin.tv_usec) / 1e6 < 1);
    say("spin", 1);

    int ends[2];
    result = pipe(ends);
    struct pollfd silent = {ends[0], POLLIN, 0};
    result = poll(&silent, 1, 100);
    say("pipe", result == 0);
    double passed = now(CLOCK_REALTIME) - realtime;
    say("both clocks", passed - (now(CLOCK_MONOTONIC) - start) < 0.01);
    return 0;
}
