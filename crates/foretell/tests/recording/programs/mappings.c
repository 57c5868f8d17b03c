#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

unsigned turn;
int *given, *again;

void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);

static int *map(void)
{
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *work(void *arg)
{
    int *own = map();
    own[0] = 1;
    munmap(own, 4096);
    free(arg);
    again = own;
    __tsan_testonly_barrier_wait(&turn);
    return 0;
}

int main(void)
{
    pthread_t worker;
    int *freed = malloc(64);
    __tsan_testonly_barrier_init(&turn, 2);
    pthread_create(&worker, 0, work, freed);
    __tsan_testonly_barrier_wait(&turn);
    int *own = map(); /* where the other's was */
    own[0] = 2;
    freed[3] = 3; /* too late */
    pthread_join(worker, 0);
    printf("%d\n", own == again);
    return 0;
}
