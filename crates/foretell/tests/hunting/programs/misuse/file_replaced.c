#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;

static void *use(void *argument) {
    char byte;
    return read(file, &byte, 1) == 1 ? argument : 0;
}

int main(void) {
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    int other = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, use, 0);
    dup2(other, file);
    pthread_join(thread, 0);
    return 0;
}
