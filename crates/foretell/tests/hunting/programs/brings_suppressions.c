#include <pthread.h>
#include <stdio.h>

static int quiet;

const char *__tsan_default_suppressions(void) {
    return "race:^quiet$\n";
}

const char *__tsan_default_options(void) {
    return "report_thread_leaks=0";
}

void __tsan_on_initialize(void) {
    puts("initialised");
}

int __tsan_on_finalize(int failed) {
    puts("finalized");
    return failed;
}

static void *work(void *argument) {
    quiet++;
    return argument;
}

static void *end(void *argument) {
    return argument;
}

int main(void) {
    pthread_t thread, leaked;
    pthread_create(&leaked, 0, end, 0);
    pthread_create(&thread, 0, work, 0);
    quiet++;
    pthread_join(thread, 0);
    return 0;
}
