#include <pthread.h>

void AnnotateIgnoreWritesBegin(const char *file, int line);

static int count;

static void *work(void *argument) {
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    count++;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
