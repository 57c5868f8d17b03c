/* pthread_create writes the id of the new thread, which another thread reads. */
#include <pthread.h>

static pthread_t latest;

static void *rests(void *unused) { return unused; }

static void *spawns(void *unused)
{
    pthread_create(&latest, NULL, rests, NULL);
    return unused;
}

int main(void)
{
    pthread_t spawner;
    pthread_create(&spawner, NULL, spawns, NULL);
#ifdef FIXED
    pthread_join(spawner, NULL);
#endif
    static volatile int is_known;
    is_known = latest != 0;
#ifndef FIXED
    pthread_join(spawner, NULL);
#endif
    pthread_join(latest, NULL);
    return 0;
}
