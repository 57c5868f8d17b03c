#include <pthread.h>

void __tsan_check_no_mutexes_held(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    __tsan_check_no_mutexes_held();
    pthread_mutex_lock(&lock);
    __tsan_check_no_mutexes_held();
    pthread_mutex_unlock(&lock);
    return 0;
}
