#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared;
static const char *how;

static void end(void)
{
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "_exit"))
        _exit(5);
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    exit(!strcmp(how, "thread-exit") ? 3 : 7);
}

static void *work(void *arg)
{
    shared++;
    if (!strcmp(how, "thread-exit"))
        end();
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    how = argc > 1 ? argv[1] : "exit";
    puts("said");
    fflush(stdout);
    fputs("complained\n", stderr);
    shared = 1;
    pthread_create(&worker, 0, work, 0);
    pthread_join(worker, 0);
    end();
    return 0;
}
