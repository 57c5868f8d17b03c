#include <pthread.h>

static pthread_mutex_t lock;

static void *initialise(void *argument) {
    pthread_mutex_init(&lock, 0);
    return argument;
}

static void *use(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, initialise, 0);
    pthread_create(&threads[1], 0, use, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
