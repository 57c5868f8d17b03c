// expect: none
// possible: race item @ "item = item + 1;" ~ "item = 0;"
// possible: atomicity item @ "item = item + 1;" < "item = 0;" < "item = item + 1;"
// allow: atomicity
// Paper 5's figure 2, after Apache's queue: the worker clears the item only after it has seen the index that the listener sets when the item is there.
// Locks alone would allow the other order.
#include "../scenarios/scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int item, index_of_item;

static void *listen(void *unused)
{
    nap(2);
    item = item + 1;
    pthread_mutex_lock(&lock);
    index_of_item = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static int is_empty(void)
{
    pthread_mutex_lock(&lock);
    int empty = index_of_item == 0;
    pthread_mutex_unlock(&lock);
    return empty;
}

static void *work(void *unused)
{
    while (is_empty())
        nap(1);
    item = 0;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(listen, NULL), start(work, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    printf("item %d\n", item);
    return item;
}
