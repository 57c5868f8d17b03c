// A thread looks whether another is done: the flags are cleared by calloc, which is what the program expects of them.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *done;

static void *work(void *index)
{
    pthread_mutex_lock(&lock);
    done[(long)index] = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *look(void *nothing)
{
    for (int index = 0; index < 2; index++) {
        pthread_mutex_lock(&lock);
        if (done[index])
            done[index] = 2;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(void)
{
    pthread_t threads[3];
    done = calloc(2, sizeof *done);
    pthread_create(&threads[0], NULL, work, (void *)0);
    pthread_create(&threads[1], NULL, work, (void *)1);
    pthread_create(&threads[2], NULL, look, NULL);
    for (int index = 0; index < 3; index++)
        pthread_join(threads[index], NULL);
    free(done);
    return 0;
}
