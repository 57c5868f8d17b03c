// An event loop with time limits, which another thread wakes through an event counter, a socket and a pipe.
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static int event, ends[2], pipes[2];
static double start;
static void *waker(void *x)
{
    uint64_t one = 1;
    for (int i = 0; i < 3; i++) { sleep(2); write(event, &one, 8); }
    sleep(10);
    write(ends[1], "x", 1);
    sleep(5);
    write(pipes[1], "y", 1);
    sleep(5);
    close(pipes[1]);
    return x;
}
int main(void)
{
    start = now();
    event = eventfd(0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pipe(pipes);
    int set = epoll_create1(0);
    struct epoll_event e = { EPOLLIN, { .fd = event } };
    epoll_ctl(set, EPOLL_CTL_ADD, event, &e);
    e.data.fd = ends[0];
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    pthread_t t;
    pthread_create(&t, 0, waker, 0);
    for (;;) {
        int n = epoll_wait(set, &e, 1, 1500);
        printf("%.2f %d %s\n", now() - start, n, n ? e.data.fd == event ? "event" : "socket" : "timeout");
        if (n && e.data.fd == event) { uint64_t v; read(event, &v, 8); }
        if (n && e.data.fd != event) break;
    }
    struct pollfd p = { pipes[0], POLLIN, 0 };
    for (int i = 0; i < 4; i++) {
        int n = poll(&p, 1, 4000); char c;
        printf("%.2f pipe %d %x\n", now() - start, n, p.revents);
        if (n) { if (read(pipes[0], &c, 1) == 0) break; }
    }
    pthread_join(t, 0);
    return 0;
}
