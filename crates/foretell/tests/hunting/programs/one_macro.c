/* Two counters that one line updates, and one that two functions update on several lines. */
#include <pthread.h>
#include <stdio.h>

#define COUNT_BOTH (sent++, received++)

int sent, received, dropped;

static void drop_one(void) {
    dropped++;
    dropped += 2;
}

static void *work(void *argument) {
    COUNT_BOTH;
    drop_one();
    return argument;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%d\n", sent + received + dropped);
    return 0;
}
