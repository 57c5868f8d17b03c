/* Wrong: the flag is set before the configuration is loaded, so the second thread can read it too early. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_flag once = ATOMIC_FLAG_INIT;
static int workers, loads;

static void load_config(void)
{
    loads++;
    workers = 4;
}

static int get_workers(void)
{
    if (!atomic_flag_test_and_set(&once))
        load_config();
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
