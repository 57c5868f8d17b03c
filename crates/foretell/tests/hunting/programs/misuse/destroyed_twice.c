// A barrier is destroyed twice; in between, another object at the same place was made and destroyed.
#include <pthread.h>

static pthread_barrier_t meeting;

int main(void)
{
    for (int round = 0; round < 2; round++) {
        pthread_barrier_init(&meeting, NULL, 1);
        pthread_barrier_wait(&meeting);
        pthread_barrier_destroy(&meeting);
    }
    pthread_barrier_destroy(&meeting);
    return 0;
}
