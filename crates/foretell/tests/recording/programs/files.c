#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

int through_pipe, through_socket, through_event, through_poll, racy;
int pipes[2], sockets[2], polled[2], event;
char sent[4] = "abc";

static void *work(void *arg)
{
    char byte = 1;
    through_pipe = 1;
    write(pipes[1], &byte, 1);
    through_socket = 1;
    send(sockets[1], &byte, 1, 0);
    unsigned long long one = 1;
    through_event = 1;
    write(event, &one, sizeof one);
    through_poll = 1;
    write(polled[1], sent, sizeof sent); /* reads what main changes */
    racy++;
    return arg;
}

int main(void)
{
    pthread_t worker;
    char byte;
    unsigned long long count;
    pipe(pipes);
    pipe(polled);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    event = eventfd(0, 0);
    pthread_create(&worker, 0, work, 0);
    sent[0] = 'x';
    read(pipes[0], &byte, 1);
    int sum = through_pipe;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(sockets[0], &set);
    select(sockets[0] + 1, &set, 0, 0, 0);
    recvfrom(sockets[0], &byte, 1, 0, 0, 0);
    sum += through_socket;
    int epoll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
    epoll_wait(epoll, &wanted, 1, -1);
    read(event, &count, sizeof count);
    sum += through_event;
    struct pollfd file = {.fd = polled[0], .events = POLLIN};
    poll(&file, 1, -1);
    char got[4];
    read(polled[0], got, sizeof got);
    sum += through_poll;
    racy++;
    pthread_join(worker, 0);
    printf("%d %d %s\n", sum, (int)count, got + 1);
    return 0;
}
