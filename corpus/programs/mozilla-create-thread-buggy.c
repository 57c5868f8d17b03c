/* Reconstruction, modelled on nsThread::Init and Main of Mozilla (CreateThread in paper 1, which gives no report number): Init stores the thread it has created
 * when the thread may already be using it. */
#include <pthread.h>
#include <stdio.h>

struct thread {
    pthread_t id;
    int state;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread storage;
static struct thread *mThread;
static int mReady;

static void *Main(void *unused)
{
    struct thread *self = mThread;
    int ready;

    (void)unused;
    if (self == NULL)
        puts("the thread does not find itself");
    pthread_mutex_lock(&lock);
    ready = mReady;
    pthread_mutex_unlock(&lock);
    if (ready)
        printf("state %d\n", mThread->state);
    return NULL;
}

int main(void)
{
    storage.state = 1;
    pthread_create(&storage.id, NULL, Main, NULL);
    mThread = &storage;
    pthread_mutex_lock(&lock);
    mReady = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(storage.id, NULL);
    return 0;
}
