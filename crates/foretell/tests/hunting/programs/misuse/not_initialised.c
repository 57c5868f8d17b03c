#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock;

int main(void)
{
    memset(&lock, 0xff, sizeof lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
