// A thread that spins in code nobody sees, until another thread lets it go; and a lock made of a futex.
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
volatile int go;
int word, inside, sum;
__attribute__((no_sanitize("thread"), noinline)) static void spin(void) { while (!go) ; }
static void take(void) {
    int expected = 0;
    if (__atomic_compare_exchange_n(&word, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, 0);
}
static void give(void) {
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2) syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}
static void *spinner(void *argument) { spin(); return 0; }
static void *locker(void *argument) {
    for (int i = 0; i < 200; i++) {
        take();
        sum++;
        give();
    }
    return 0;
}
int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, spinner, 0);
    pthread_create(&b, 0, locker, 0);
    pthread_create(&c, 0, locker, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    go = 1;
    pthread_join(a, 0);
    printf("%d\n", sum);
    return 0;
}
