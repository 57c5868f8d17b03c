#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int number;

static void *work(void *arg)
{
    number++;
    return arg;
}

static void two(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    pthread_join(worker, 0);
    number++;
}

int main(void)
{
    two();
    pid_t child = fork();
    if (child == 0) {
        two();
        printf("child %d\n", number);
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status != 0;
}
