/* Reconstruction, modelled on aget 0.4, a downloader that fetches a file in segments, one thread each: fixed by
 * updating and saving the progress with the lock held. Here the segments are those of a buffer. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LENGTH 8
#define SEGMENTS 2
#define CHUNK 2

struct segment {
    int offset;
};

static const char source[] = "abcdefgh";
static char copy[LENGTH];
static struct segment segments[SEGMENTS];
static pthread_mutex_t bwritten_mutex = PTHREAD_MUTEX_INITIALIZER;
static int bwritten;

static void *fetch(void *argument)
{
    struct segment *segment = argument;
    int at = segment->offset;
    int end = at + LENGTH / SEGMENTS;

    while (at < end) {
        memcpy(copy + at, source + at, CHUNK);
        at += CHUNK;
        pthread_mutex_lock(&bwritten_mutex);
        segment->offset = at;
        bwritten += CHUNK;
        pthread_mutex_unlock(&bwritten_mutex);
    }
    return NULL;
}

static void save_log(void)
{
    int saved, fetched = 0;

    pthread_mutex_lock(&bwritten_mutex);
    for (int i = 0; i < SEGMENTS; i++)
        fetched += segments[i].offset - i * (LENGTH / SEGMENTS);
    saved = bwritten;
    pthread_mutex_unlock(&bwritten_mutex);
    if (saved != fetched)
        printf("saved %d bytes, but fetched %d\n", saved, fetched);
}

int main(void)
{
    pthread_t threads[SEGMENTS];

    for (int i = 0; i < SEGMENTS; i++) {
        segments[i].offset = i * (LENGTH / SEGMENTS);
        pthread_create(&threads[i], NULL, fetch, &segments[i]);
    }
    save_log();
    for (int i = 0; i < SEGMENTS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
