// Says what its clocks show, sleeps for two hours, and has a race.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int shared;

static long now(int clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *increment(void *unused)
{
    shared++;
    return unused;
}

int main(void)
{
    printf("begin %ld %ld %ld\n", now(CLOCK_REALTIME), now(CLOCK_MONOTONIC), (long)time(0));
    long begin = now(CLOCK_MONOTONIC);
    sleep(7200);
    printf("slept %ld\n", (now(CLOCK_MONOTONIC) - begin) / 1000000000);
    pthread_t thread;
    pthread_create(&thread, 0, increment, 0);
    shared++;
    pthread_join(thread, 0);
    return 0;
}
