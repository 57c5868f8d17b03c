// A server that goes into the background before it starts its threads, which count without a lock.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <unistd.h>

static int requests;

static void *serve(void *argument) {
    requests++;
    return argument;
}

int main(void) {
    if (daemon(1, 0) != 0) {
        return 2;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, serve, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
