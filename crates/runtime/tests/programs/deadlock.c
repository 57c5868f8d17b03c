// Two threads that take two locks in opposite orders, and meet.
#include <pthread.h>
#include <sched.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int has_a, has_b;
static void *run(void *argument) {
    pthread_mutex_lock(&b);
    __atomic_store_n(&has_b, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&has_a, __ATOMIC_SEQ_CST)) sched_yield();
    pthread_mutex_lock(&a);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_mutex_lock(&a);
    __atomic_store_n(&has_a, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&has_b, __ATOMIC_SEQ_CST)) sched_yield();
    pthread_mutex_lock(&b);
    return 0;
}
