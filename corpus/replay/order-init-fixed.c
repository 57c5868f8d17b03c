// expect: none
// The worker starts when the loader has ended.
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
    finish(start(load, NULL));
    finish(start(work, NULL));
    printf("limit %d\n", used);
    free(config);
    return 0;
}
