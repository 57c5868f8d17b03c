// Two threads share an array; each adds to all of it, one after the other.
#include <pthread.h>
#include <stdio.h>

enum { LENGTH = 1000, ROUNDS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long numbers[LENGTH];

static void *add(void *amount)
{
    pthread_mutex_lock(&lock);
    for (int round = 0; round < ROUNDS; round++)
        for (int index = 0; index < LENGTH; index++)
            numbers[index] += (long)amount;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long index = 0; index < 2; index++)
        pthread_create(&threads[index], NULL, add, (void *)(index + 1));
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
#ifdef CHANGED
    puts("changed");
#endif
    printf("%ld\n", numbers[LENGTH - 1]);
    return 0;
}
