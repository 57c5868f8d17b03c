/* Reconstruction, named for the row FileTransport of paper 1's table 1. Nothing but the row was at hand: this has its threads, its lock
 * and its variables, after Thrift's TFileTransport: a writer thread flushes what is enqueued until it is told to close; fixed by
 * looking at the flag with the lock held. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int closing;
static int enqueued;

static int flush(void)
{
    int flushed;

    pthread_mutex_lock(&mutex); /* flush */
    flushed = enqueued; /* take */
    enqueued = 0; /* empty */
    pthread_mutex_unlock(&mutex); /* flushed */
    return flushed;
}

static int first_look(void)
{
    int seen;

    pthread_mutex_lock(&mutex); /* first look */
    seen = closing; /* first */
    pthread_mutex_unlock(&mutex); /* first looked */
    return seen;
}

static int second_look(void)
{
    int seen;

    pthread_mutex_lock(&mutex); /* second look */
    seen = closing; /* second */
    pthread_mutex_unlock(&mutex); /* second looked */
    return seen;
}

static void *writer(void *unused)
{
    int flushed = 0;

    (void)unused;
    if (!first_look())
        flushed = flush();
    if (second_look() && flushed == 0)
        puts("closed without what was enqueued");
    return NULL;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, writer, NULL);
    pthread_mutex_lock(&mutex); /* enqueue */
    enqueued = 1; /* put */
    pthread_mutex_unlock(&mutex); /* enqueued */
    pthread_mutex_lock(&mutex); /* close */
    closing = 1; /* tell */
    pthread_mutex_unlock(&mutex); /* told */
    pthread_join(thread, NULL);
    return 0;
}
