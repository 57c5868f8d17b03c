/* fgets and getline write what another thread reads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static char first[16];
static char *second;
static size_t size;

static void *reads(void *text)
{
    FILE *stream = fmemopen(text, 8, "r");
    if (!fgets(first, sizeof first, stream) || getline(&second, &size, stream) < 0)
        abort();
    fclose(stream);
    return NULL;
}

int main(void)
{
    static char text[] = "one\ntwo\n";
    pthread_t thread;
    second = malloc(size = 120);
    pthread_create(&thread, NULL, reads, text);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    int seen = first[0] + (int)size;
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    free(second);
    return seen < 0;
}
