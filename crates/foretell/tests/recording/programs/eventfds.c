// Two senders with an event counter each. Main learns by epoll which of them sent something, so it is ordered after that one only.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int first, second;
static int of_first, of_second;

static void *send_first(void *unused)
{
    of_first = 1;
    eventfd_write(fcntl(first, F_DUPFD_CLOEXEC, 0), 1);
    return unused;
}

static void *send_second(void *unused)
{
    unsigned long one = 1;

    of_second = 1;
    write(second, &one, sizeof one);
    return unused;
}

int main(void)
{
    pthread_t senders[2];
    struct epoll_event event = {.events = EPOLLIN};
    eventfd_t count;
    int inner = epoll_create1(0), outer = epoll_create1(0);

    first = eventfd(0, EFD_NONBLOCK);
    second = dup(eventfd(0, EFD_NONBLOCK));
    event.data.u64 = 77;
    epoll_ctl(inner, EPOLL_CTL_ADD, first, &event);
    event.data.u64 = 88;
    epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
    pthread_create(&senders[0], NULL, send_first, NULL);
    pthread_create(&senders[1], NULL, send_second, NULL);
    while (epoll_wait(outer, &event, 1, -1) != 1)
        ;
    of_first++;
    eventfd_read(first, &count);
    of_second += count;
    pthread_join(senders[0], NULL);
    pthread_join(senders[1], NULL);
    printf("%d %d\n", of_first, (int)count);
    return 0;
}
