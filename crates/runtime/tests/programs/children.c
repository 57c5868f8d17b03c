// Children: forked, and forked with threads of their own; the parent has threads, too.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int shared;
static void *run(void *argument) { for (int i = 0; i < 100; i++) shared++; return 0; }
int main(void) {
    pthread_t a, b;
    int status, sum = 0;
    pthread_create(&a, 0, run, 0);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_create(&a, 0, run, 0);
            pthread_create(&b, 0, run, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
            _exit(10 + i);
        }
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status);
    }
    sum += WEXITSTATUS(system("exit 5"));
    pthread_join(a, 0);
    printf("%d\n", sum);
    return 0;
}
