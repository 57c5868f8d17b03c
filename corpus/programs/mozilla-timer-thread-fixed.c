/* Reconstruction, modelled on the Mozilla bug that paper 1 calls TimerThread (it gives no more than the name; the code is ours): fixed by
 * checking whether to stop under the lock that the wait gives up. The wait ends by itself after a second. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mLock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mCondVar = PTHREAD_COND_INITIALIZER;
static int mShutdown;

static void *Run(void *unused)
{
    struct timespec until;
    int error = 0;

    (void)unused;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&mLock);
    while (!mShutdown && error == 0)
        error = pthread_cond_timedwait(&mCondVar, &mLock, &until);
    pthread_mutex_unlock(&mLock);
    if (error != 0)
        puts("the signal was lost");
    return NULL;
}

static void Shutdown(void)
{
    pthread_mutex_lock(&mLock);
    mShutdown = 1;
    pthread_cond_signal(&mCondVar);
    pthread_mutex_unlock(&mLock);
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, Run, NULL);
    Shutdown();
    pthread_join(thread, NULL);
    return 0;
}
