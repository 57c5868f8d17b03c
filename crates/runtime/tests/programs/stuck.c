// One thread blocks in the C library, behind our back, while the other sleeps.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int ends[2];
static void *run(void *argument) {
    for (int i = 0; i < 3; i++) {
        usleep(30000);
        write(ends[1], "x", 1);
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    int got = 0;
    pipe(ends);
    FILE *stream = fdopen(ends[0], "r");
    pthread_create(&thread, 0, run, 0);
    while (got < 3 && fgetc(stream) == 'x') got++;
    pthread_join(thread, 0);
    printf("%d\n", got);
    return 0;
}
