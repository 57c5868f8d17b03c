#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int pair[2], other_pair[2], connection, listener;
struct sockaddr_in address;
int through_pair, not_through_pair, through_connection, until_closed, answered;

static void *sends(void *arg)
{
    char byte = 'x';
    through_pair = 1;
    write(pair[1], &byte, 1);
    /* What the other pair carries is older than this. */
    not_through_pair = 1;
    connection = socket(AF_INET, SOCK_STREAM, 0);
    connect(connection, (struct sockaddr *)&address, sizeof address);
    through_connection = 1;
    send(connection, &byte, 1, 0);
    until_closed = 1;
    shutdown(connection, SHUT_WR);
    /* By now both ends are closed for writing. */
    usleep(20000);
    long got = recv(connection, &byte, 1, 0);
    answered += got;
    return arg;
}

int main(void)
{
    char byte;
    pthread_t thread;
    socklen_t length = sizeof address;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    socketpair(AF_UNIX, SOCK_STREAM, 0, other_pair);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &length);
    pthread_create(&thread, 0, sends, 0);
    read(pair[0], &byte, 1);
    through_pair++;
    byte = 'y';
    write(other_pair[1], &byte, 1);
    read(other_pair[0], &byte, 1);
    not_through_pair++;
    int accepted = accept(listener, 0, 0);
    recv(accepted, &byte, 1, 0);
    through_connection++;
    long rest = recv(accepted, &byte, 1, 0);
    until_closed++;
    answered = 1;
    send(accepted, &byte, 1, 0);
    shutdown(accepted, SHUT_WR);
    pthread_join(thread, 0);
    printf("%d %d %d %ld %d\n", through_pair, through_connection, until_closed, rest, answered);
    return 0;
}
