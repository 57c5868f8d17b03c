/* Wrong: each thread gets the address of the loop variable, which main changes before the thread reads it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2 };

static int visits[THREADS];

static void *visit(void *argument)
{
    int me = *(int *)argument;

    if (me < THREADS)
        visits[me] = 1;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int number;

    for (number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, visit, &number);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(visits[0] == 1 && visits[1] == 1);
    puts("each place was visited");
    return 0;
}
