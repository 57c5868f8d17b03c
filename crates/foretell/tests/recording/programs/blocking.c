#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int polled[2], selected[2], epolled[2], streamed[2], counter, word, turns;

/* Each time the other thread is in a call that blocks, which some of them do behind the recorder's back. */
static void *helps(void *arg)
{
    char byte = 'x';
    long one = 1;
    for (int i = 0; i < 200; i++)
        turns++;
    usleep(2000);
    write(polled[1], &byte, 1);
    usleep(2000);
    write(selected[1], &byte, 1);
    usleep(2000);
    write(epolled[1], &byte, 1);
    usleep(2000);
    write(counter, &one, sizeof one);
    usleep(2000);
    write(streamed[1], &byte, 1);
    usleep(2000);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    char byte;
    long value;
    int passed = 0, status;
    pipe(polled);
    pipe(selected);
    pipe(epolled);
    pipe(streamed);
    counter = eventfd(0, 0);
    pthread_create(&thread, 0, helps, 0);
    struct pollfd file = {polled[0], POLLIN, 0};
    passed += poll(&file, 1, -1);
    read(polled[0], &byte, 1);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(selected[0], &set);
    passed += select(selected[0] + 1, &set, 0, 0, 0);
    read(selected[0], &byte, 1);
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, epolled[0], &event);
    passed += epoll_wait(epoll, &event, 1, -1);
    read(epolled[0], &byte, 1);
    read(counter, &value, sizeof value);
    passed += value;
    FILE *stream = fdopen(streamed[0], "r");
    passed += fgetc(stream) == 'x';
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        _exit(3);
    }
    waitpid(child, &status, 0);
    struct timespec moment = {0, 1000};
    passed += ppoll(0, 0, &moment, 0) == 0;
    passed += pselect(0, 0, 0, 0, &moment, 0) == 0;
    printf("%d %d %d\n", passed, turns, WEXITSTATUS(status));
    return 0;
}
