/* Reconstruction, modelled on the Mozilla bug that paper 1 calls SeekToItem (it gives no more than the name; the code is ours): fixed by
 * moving the position, and going on from it, with the lock held. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int length;
static int position;

static void *seek_to_last(void *unused)
{
    int last;

    (void)unused;
    pthread_mutex_lock(&lock);
    last = length - 1;
    position = last;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *drop_last(void *unused)
{
    int at, count;

    (void)unused;
    pthread_mutex_lock(&lock);
    length--;
    count = length;
    at = position;
    if (at >= count)
        position = count - 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t seeker, dropper;

    length = 3;
    position = 0;
    pthread_create(&seeker, NULL, seek_to_last, NULL);
    pthread_create(&dropper, NULL, drop_last, NULL);
    pthread_join(seeker, NULL);
    pthread_join(dropper, NULL);
    return 0;
}
