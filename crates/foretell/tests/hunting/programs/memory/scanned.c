/* sscanf writes what another thread reads. */
#include <pthread.h>
#include <stdio.h>

static int width, height;
static char name[8];

static void *scans(void *text)
{
    sscanf(text, "%d %7s %d", &width, name, &height);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, scans, "3 four 5");
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    int seen = width + height + name[0];
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    return seen < 0;
}
