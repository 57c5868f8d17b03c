// A thread waits with epoll for an event counter that the main thread watches it with and writes to.
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int counter, queue;

static void *serve(void *unused)
{
    struct epoll_event event;
    eventfd_t count;

    while (epoll_wait(queue, &event, 1, -1) != 1)
        ;
    eventfd_read(counter, &count);
    printf("%d\n", (int)count);
    return unused;
}

int main(void)
{
    pthread_t server;
    struct epoll_event event = {.events = EPOLLIN};

    counter = eventfd(0, 0);
    queue = epoll_create1(0);
    epoll_ctl(queue, EPOLL_CTL_ADD, counter, &event);
    pthread_create(&server, NULL, serve, NULL);
    eventfd_write(counter, 3);
    pthread_join(server, NULL);
    return 0;
}
