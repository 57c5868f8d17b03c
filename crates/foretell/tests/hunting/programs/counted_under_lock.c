/* The race on `done` is hidden: both threads take the lock, and whoever comes second reads another count. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, done;

static void work(void) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    work();
    done = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    done = 2;
    work();
    pthread_join(thread, NULL);
    printf("%d %d\n", count, done);
    return 0;
}
