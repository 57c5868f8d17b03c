#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
int shared;

static void *work(void *arg)
{
    char *command[] = {"true", 0};
    pid_t child;
    int status = -1;
    if (posix_spawnp(&child, "true", 0, 0, command, environ) == 0)
        waitpid(child, &status, 0);
    shared += status == 0;
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    pid_t child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)0);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    FILE *said = popen("echo said", "r");
    char line[16] = "";
    fgets(line, sizeof line, said);
    pclose(said);
    int shell = system("exit 3");
    pthread_join(worker, 0);
    shared += status == 0;
    printf("%d %d %s", shared, WEXITSTATUS(shell), line);
    return 0;
}
