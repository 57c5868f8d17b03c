// Two threads let a library write to the same bytes.
#include <pthread.h>

void fill(char *bytes, int with, unsigned long length);

static char bytes[8];

static void *run(void *argument) {
    fill(bytes, 1, sizeof bytes);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    fill(bytes, 2, sizeof bytes);
    pthread_join(thread, NULL);
    return 0;
}
