/* Nothing that harms anybody: that the atomic maximum may be lost is never seen, and the output has the time, the number of the process, an
   address, and lines in the order of the threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static atomic_long largest;
static void *work(void *number)
{
    long seen = atomic_load(&largest);
    if (seen < (long)number)
        atomic_store(&largest, (long)number);
    printf("%ld by %d at %p, worker %ld\n", (long)time(0), (int)getpid(), (void *)&number, (long)number);
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
