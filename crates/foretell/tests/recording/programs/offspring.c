#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

long counter, in_handlers;
int stop;
int words[2];

static void *count(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
        usleep(1000);
    }
    return arg;
}

/* More events than any thread may perform before others get a turn. */
static void act(void)
{
    for (int i = 0; i < 3000; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
}

static int cloned(void *arg)
{
    act();
    if (arg)
        exit(3);
    _exit(4);
}

/* Shares the parent's memory and runs beside it. */
static int beside(void *arg)
{
    act();
    in_handlers++;
    _exit((long)arg);
}

static int status_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) != child)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void handler(void)
{
    for (int i = 0; i < 1000; i++)
        in_handlers++;
}

int main(void)
{
    pthread_t thread;
    static char stack[256 << 10] __attribute__((aligned(64)));
    char *top = stack + sizeof stack;
    int sum = 0;
    pthread_atfork(handler, handler, handler);
    pthread_create(&thread, 0, count, 0);
    sum += status_of(clone(cloned, top, SIGCHLD, words));
    sum += status_of(clone(cloned, top, SIGCHLD, 0));
    sum += status_of(clone(cloned, top, CLONE_VM | CLONE_VFORK | SIGCHLD, 0));
    pid_t child = clone(beside, top, CLONE_VM | SIGCHLD, (void *)5);
    act();
    sum += status_of(child);
    child = fork();
    if (child == 0) {
        act();
        exit(6);
    }
    sum += status_of(child);
    child = vfork();
    if (child == 0) {
        act();
        _exit(7);
    }
    sum += status_of(child);
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        act();
        _exit(8);
    }
    sum += status_of(child);
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, 0);
    printf("%d\n", sum);
    return 0;
}
