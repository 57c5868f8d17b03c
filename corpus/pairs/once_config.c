/* Correct: pthread_once returns only after the configuration has been loaded, whoever loads it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int workers, loads;

static void load_config(void)
{
    loads++;
    workers = 4;
}

static int get_workers(void)
{
    pthread_once(&once, load_config);
    return workers;
}

static void *serve(void *unused)
{
    assert(get_workers() == 4);
    return unused;
}

int main(void)
{
    pthread_t servers[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&servers[i], NULL, serve, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(servers[i], NULL);
    printf("loaded %d time, %d workers\n", loads, workers);
    return 0;
}
