// A thread that waits for commands by epoll, as servers and libraries of messages do. The commands are ordered by their lock and their counter; what
// the thread counts on the way is not.
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { COMMANDS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int commands, handled;
static int counter, poller;
static int batches;

static void *serve(void *unused)
{
    struct epoll_event event;
    eventfd_t count;

    while (handled < COMMANDS) {
        if (epoll_wait(poller, &event, 1, -1) != 1 || eventfd_read(counter, &count))
            continue;
        pthread_mutex_lock(&lock);
        handled += commands;
        commands = 0;
        pthread_mutex_unlock(&lock);
        batches++;
    }
    return unused;
}

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    pthread_t server;
    int i;

    poller = epoll_create1(EPOLL_CLOEXEC);
    counter = eventfd(0, EFD_NONBLOCK);
    epoll_ctl(poller, EPOLL_CTL_ADD, counter, &event);
    pthread_create(&server, NULL, serve, NULL);
    for (i = 0; i < COMMANDS; i++) {
        pthread_mutex_lock(&lock);
        commands++;
        pthread_mutex_unlock(&lock);
        eventfd_write(counter, 1);
        if (i == COMMANDS / 2)
            usleep(batches);
    }
    pthread_join(server, NULL);
    printf("%d\n", handled);
    return 0;
}
