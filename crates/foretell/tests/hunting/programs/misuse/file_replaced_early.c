#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;

static void *finish(void *argument) {
    close(file);
    return argument;
}

int main(void) {
    pthread_t thread;
    file = open("/dev/null", O_RDONLY);
    int other = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, finish, 0);
    dup2(other, file);
    pthread_join(thread, 0);
    return 0;
}
