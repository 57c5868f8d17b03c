/* The audit takes a lock, but not the one that everybody else takes. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void *book(void *unused)
{
    pthread_mutex_lock(&ledger);
    entries++;
    pthread_mutex_unlock(&ledger);
    return unused;
}

static void *audit(void *unused)
{
    pthread_mutex_lock(&journal);
    entries = 0;
    pthread_mutex_unlock(&journal);
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, book, NULL);
    pthread_create(&threads[1], NULL, book, NULL);
    pthread_create(&threads[2], NULL, audit, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
