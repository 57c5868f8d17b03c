// Writes to random places for ever: hardly an event is predicted.
#include <pthread.h>
unsigned cells[1 << 16];
static void *run(void *argument) {
    for (unsigned random = (long)argument;;) {
        random = random * 1664525 + 1013904223;
        cells[random >> 16] = random;
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)1);
    pthread_create(&thread, 0, run, (void *)2);
    pthread_join(thread, 0);
    return 0;
}
