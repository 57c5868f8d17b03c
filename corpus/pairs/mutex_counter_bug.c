/* Wrong: withdraw() changes the total without the lock, so an update of the other thread can be lost between
 * its read and its write. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *deposit(void *unused)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        total += 10;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *withdraw(void *unused)
{
    total -= 5;
    return unused;
}

int main(void)
{
    pthread_t clerks[2];

    pthread_create(&clerks[0], NULL, deposit, NULL);
    pthread_create(&clerks[1], NULL, withdraw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], NULL);
    assert(total == 15);
    printf("total %d\n", total);
    return 0;
}
