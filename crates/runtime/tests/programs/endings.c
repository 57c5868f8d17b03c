// Ways for a program to end while threads still run.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile long work;
static void *run(void *argument) { for (;;) work++; return 0; }
static void *last(void *argument) { for (int i = 0; i < 1000; i++) work++; printf("last\n"); return 0; }
static void bye(void) { printf("bye\n"); work++; }
int main(int count, char **arguments) {
    pthread_t thread;
    const char *how = arguments[1];
    atexit(bye);
    pthread_create(&thread, 0, strcmp(how, "pthread_exit") ? run : last, 0);
    for (int i = 0; i < 1000; i++) work++;
    if (!strcmp(how, "exit")) exit(4);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "killed")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "pthread_exit")) pthread_exit(0);
    return 6;
}
