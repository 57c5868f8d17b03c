/* The number of a file is given out again only after it was closed, so what is noted under it is in order. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int owners[64], log_file;

static void *hangs_up(void *unused)
{
    owners[log_file] = 0;
    close(log_file);
    return unused;
}

static void *accepts(void *unused)
{
    usleep(30000);
    int file = open("/dev/null", O_RDONLY);
    owners[file] = 1;
    close(file);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    log_file = open("/dev/null", O_RDONLY);
    pthread_create(&first, NULL, hangs_up, NULL);
    pthread_create(&second, NULL, accepts, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
