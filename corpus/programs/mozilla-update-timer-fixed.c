/* Reconstruction, modelled on the Mozilla bug that paper 1 calls UpdateTimer (it gives no more than the name; the code is ours): fixed by
 * taking the lock for the delay of the timer as for everything else. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int armed;
static int timeout;
static int delay;
static int fired;

static int due(void)
{
    int now;

    pthread_mutex_lock(&lock);
    now = armed && timeout > 0;
    pthread_mutex_unlock(&lock);
    return now;
}

static void *run(void *unused)
{
    int wait = 0;

    (void)unused;
    if (due()) {
        pthread_mutex_lock(&lock);
        wait = delay;
        pthread_mutex_unlock(&lock);
    }
    if (due() && wait > 0) {
        pthread_mutex_lock(&lock);
        fired = 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int rang;

    armed = 1;
    timeout = 5;
    delay = 10;
    pthread_create(&thread, NULL, run, NULL);
    pthread_mutex_lock(&lock);
    delay = 20;
    timeout = 7;
    rang = fired;
    pthread_mutex_unlock(&lock);
    printf("%s\n", rang ? "rang" : "did not ring yet");
    pthread_join(thread, NULL);
    return 0;
}
