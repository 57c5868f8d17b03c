#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int sockets[2], file;
int through_messages;
char sent[2] = {'s', 't'}, received[2], at_offset[2], to_file[2] = {'t', 'o'};
struct mmsghdr messages_got[2];
struct stat64 status;

static struct mmsghdr message(struct iovec *part, char *bytes)
{
    struct mmsghdr it = {0};
    part->iov_base = bytes;
    part->iov_len = 1;
    it.msg_hdr.msg_iov = part;
    it.msg_hdr.msg_iovlen = 1;
    return it;
}

static void *work(void *arg)
{
    struct iovec parts[2];
    struct mmsghdr messages[2] = {message(&parts[0], &sent[0]), message(&parts[1], &sent[1])};
    to_file[1] = 'o';
    at_offset[0] = 'o';
    status.st_size = 0;
    through_messages = 1;
    if (sendmmsg(sockets[1], messages, 2, 0) != 2)
        abort();
    sent[1] = 't'; /* after it was sent */
    received[1] = 'r';
    return arg;
}

int main(void)
{
    pthread_t thread;
    FILE *stream = tmpfile();
    file = fileno(stream);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0)
        abort();
    pthread_create(&thread, 0, work, 0);
    struct iovec part = {to_file, 2};
    if (pwritev(file, &part, 1, 0) != 2)
        abort();
    part.iov_base = at_offset;
    if (preadv(file, &part, 1, 0) != 2 || fstat64(file, &status) != 0)
        abort();
    struct iovec parts[2];
    messages_got[0] = message(&parts[0], &received[0]);
    messages_got[1] = message(&parts[1], &received[1]);
    int count = recvmmsg(sockets[0], messages_got, 2, MSG_WAITALL, NULL);
    int seen = through_messages;
    pthread_join(thread, 0);
    fclose(stream);
    printf("%d %d %u %c\n", count, seen, messages_got[0].msg_len, received[0]);
    return 0;
}
