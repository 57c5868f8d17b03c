/* The reader asserts that it comes before the writer. In most orders it does. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *write_value(void *unused)
{
    usleep(20000);
    pthread_mutex_lock(&lock);
    value = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *read_value(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = value;
    pthread_mutex_unlock(&lock);
    assert(seen == 0);
    return unused;
}

int main(void)
{
    pthread_t writer, reader;

    pthread_create(&writer, NULL, write_value, NULL);
    pthread_create(&reader, NULL, read_value, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
