// Three threads write unique values to racy variables and note what they read.
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#define N 3000
static uint32_t shared[4];
static uint32_t seen[4][N];
static void *run(void *argument) {
    long me = (long)argument;
    uint32_t next = me * 1000000, random = me * 77777;
    for (int i = 0; i < N; i++) {
        random = random * 1664525 + 1013904223;
        volatile uint32_t *cell = &shared[random >> 30];
        if (random >> 29 & 1)
            *cell = ++next;
        else
            seen[me][i] = *cell;
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 1; i < 4; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 1; i < 4; i++) pthread_join(threads[i], 0);
    fprintf(stdout, "%lx\n", (unsigned long)shared);
    for (int t = 1; t < 4; t++)
        for (int i = 0; i < N; i++) printf("%u ", seen[t][i]);
    return 0;
}
