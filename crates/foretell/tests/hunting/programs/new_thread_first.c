/* Fails only if the new thread takes the lock before its creator, who takes it twenty times. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, is_first_new;

static void add(int is_new)
{
    pthread_mutex_lock(&lock);
    if (count == 0)
        is_first_new = is_new;
    count++;
    pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
    add(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    for (int i = 0; i < 20; i++)
        add(0);
    pthread_join(thread, 0);
    assert(!is_first_new);
    return 0;
}
