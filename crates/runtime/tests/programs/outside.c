// A pipe between threads, a sleeping thread, and a thread that blocks where nobody sees it.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int ends[2], hidden[2], last;
static void *reader(void *argument) {
    char byte;
    int sum = 0;
    while (read(ends[0], &byte, 1) == 1) sum += byte;
    last = sum;
    return 0;
}
static void *unseen(void *argument) {
    FILE *stream = fdopen(hidden[0], "r");
    char line[10];
    return fgets(line, sizeof line, stream) ? "got" : 0;
}
static void *poller(void *argument) {
    struct pollfd what = {.fd = hidden[0], .events = 0};
    return (void *)(long)poll(&what, 1, 30);
}
int main(void) {
    pthread_t a, b, c;
    void *result;
    pipe(ends);
    pipe(hidden);
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, unseen, 0);
    pthread_create(&c, 0, poller, 0);
    for (int i = 0; i < 100; i++) {
        char byte = 1;
        write(ends[1], &byte, 1);
        if (i % 10 == 0) usleep(1000);
    }
    close(ends[1]);
    pthread_join(a, 0);
    usleep(20000);
    write(hidden[1], "x\n", 2);
    pthread_join(b, &result);
    pthread_join(c, 0);
    printf("%d %s\n", last, (char *)result);
    return 0;
}
