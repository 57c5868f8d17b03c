/* Reconstruction, modelled on the Mozilla bug that paper 1 calls TimerThread (it gives no more than the name; the code is ours): the timer's thread
 * checks under one lock whether to stop and waits under another; a signal in between is lost. It is no race. The
 * wait ends by itself after a second, so that the program always does. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mLock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mWaitLock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mCondVar = PTHREAD_COND_INITIALIZER;
static int mShutdown;

static void *Run(void *unused)
{
    struct timespec until;
    int stop, error = 0;

    (void)unused;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&mLock);
    stop = mShutdown;
    pthread_mutex_unlock(&mLock);
    pthread_mutex_lock(&mWaitLock);
    if (!stop)
        error = pthread_cond_timedwait(&mCondVar, &mWaitLock, &until);
    pthread_mutex_unlock(&mWaitLock);
    if (error != 0)
        puts("the signal was lost");
    return NULL;
}

static void Shutdown(void)
{
    pthread_mutex_lock(&mLock);
    mShutdown = 1;
    pthread_mutex_unlock(&mLock);
    pthread_mutex_lock(&mWaitLock);
    pthread_cond_signal(&mCondVar);
    pthread_mutex_unlock(&mWaitLock);
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, Run, NULL);
    Shutdown();
    pthread_join(thread, NULL);
    return 0;
}
