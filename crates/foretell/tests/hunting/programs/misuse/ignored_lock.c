// A thread takes a lock, but has its order ignored.
#include <pthread.h>

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *add(void *argument) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
