#include <pthread.h>
#include <unistd.h>

static int files[2];

static void *send(void *argument) {
    return write(files[1], "a", 1) == 1 ? argument : 0;
}

static void *finish(void *argument) {
    close(files[0]);
    close(files[1]);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    if (pipe(files) != 0) {
        return 2;
    }
    pthread_create(&threads[0], 0, send, 0);
    pthread_create(&threads[1], 0, finish, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
