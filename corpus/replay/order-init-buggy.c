// expect: order config @ "limit = config->limit;" < "config->limit = 10;"
// fails: abort
// A loader fills in the configuration, a worker uses it. Both lock, but nothing says who comes first.
#include <assert.h>

#include "../scenarios/scenario.h"

struct config {
    int limit;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *config;
static int used;

static void *load(void *unused)
{
    pthread_mutex_lock(&lock);
    config->limit = 10;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *work(void *unused)
{
    int limit;

    nap(50);
    pthread_mutex_lock(&lock);
    limit = config->limit;
    pthread_mutex_unlock(&lock);
    assert(limit != 0);
    used = limit;
    return unused;
}

int main(void)
{
    config = calloc(1, sizeof *config);
    if (!config)
        abort();
    pthread_t threads[] = {start(load, NULL), start(work, NULL)};
    finish(threads[0]);
    finish(threads[1]);
    printf("limit %d\n", used);
    free(config);
    return 0;
}
