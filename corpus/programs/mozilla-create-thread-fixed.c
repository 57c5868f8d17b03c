/* Reconstruction, modelled on nsThread::Init and Main of Mozilla (CreateThread in paper 1, which gives no report number): Init stores the thread it has created;
 * fixed by creating it with the lock held that the thread takes first. */
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
    struct thread *self;
    int ready;

    (void)unused;
    pthread_mutex_lock(&lock);
    self = mThread;
    ready = mReady;
    pthread_mutex_unlock(&lock);
    if (ready)
        printf("state %d\n", self->state);
    return NULL;
}

int main(void)
{
    storage.state = 1;
    pthread_mutex_lock(&lock);
    pthread_create(&storage.id, NULL, Main, NULL);
    mThread = &storage;
    mReady = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(storage.id, NULL);
    return 0;
}
