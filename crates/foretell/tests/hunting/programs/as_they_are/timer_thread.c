// A timer that calls a function on a thread of its own, again and again.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int fired;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void expired(union sigval value) {
    (void)value;
#ifndef RACY
    pthread_mutex_lock(&lock);
#endif
    fired++;
#ifndef RACY
    pthread_mutex_unlock(&lock);
#endif
}

int main(void) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = expired;
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
        return 2;
    }
    struct itimerspec time = {.it_interval = {.tv_nsec = 5000000}, .it_value = {.tv_nsec = 5000000}};
    timer_settime(timer, 0, &time, NULL);
    for (int done = 0; done < 2;) {
        usleep(10000);
        pthread_mutex_lock(&lock);
        done = fired;
        pthread_mutex_unlock(&lock);
    }
    timer_delete(timer);
    return 0;
}
