/* What every scenario needs: threads that are started and waited for, and a short sleep that makes one order likely. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, body, argument) != 0)
        abort();
    return thread;
}

static inline void finish(pthread_t thread)
{
    if (pthread_join(thread, NULL) != 0)
        abort();
}

static inline void nap(int milliseconds)
{
    usleep(milliseconds * 1000);
}

#endif
