// Who is told that something has arrived comes after who sent it, even if nobody reads it.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

static int event, pipes[2];
static int polled, selected;

static void *send(void *unused)
{
    unsigned long one = 1;

    polled = 1;
    write(event, &one, sizeof one);
    selected = 1;
    write(pipes[1], "x", 1);
    return unused;
}

int main(void)
{
    pthread_t sender;
    struct pollfd file;
    fd_set files;

    event = eventfd(0, 0);
    if (pipe(pipes))
        return 1;
    pthread_create(&sender, NULL, send, NULL);
    file.fd = event;
    file.events = POLLIN;
    poll(&file, 1, -1);
    polled++;
    FD_ZERO(&files);
    FD_SET(pipes[0], &files);
    select(pipes[0] + 1, &files, NULL, NULL, NULL);
    selected++;
    printf("%d %d\n", polled, selected);
    pthread_join(sender, NULL);
    return 0;
}
