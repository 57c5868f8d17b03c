// expect: none
// Two readers share the lock, the writer has it alone.
#include "scenario.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int price, seen[2];

static void *reader(void *argument)
{
    int i = (int)(intptr_t)argument;

    pthread_rwlock_rdlock(&lock);
    seen[i] = price;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *writer(void *unused)
{
    pthread_rwlock_wrlock(&lock);
    price = 7;
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(reader, (void *)0), start(writer, NULL), start(reader, (void *)1)};

    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("seen %d and %d\n", seen[0], seen[1]);
    return 0;
}
