// Crashes unless the new thread runs before its maker goes on.
#include <pthread.h>
int *pointer, value;
static void *run(void *argument) { pointer = &value; return 0; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    *pointer = 1;
    pthread_join(thread, 0);
    return 0;
}
