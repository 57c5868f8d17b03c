#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t never_created, created;

static void *sets(void *value)
{
    if (pthread_setspecific(never_created, value) != EINVAL || pthread_getspecific(never_created) != NULL)
        abort();
    if (pthread_setspecific(created, value) != 0 || pthread_getspecific(created) != value)
        abort();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int value;
    /* The C library numbers keys from 0; this one is 0, and the next is not there. */
    if (pthread_key_create(&created, NULL) != 0)
        abort();
    never_created = created + 1;
    sets(&value);
    pthread_create(&thread, NULL, sets, &value);
    pthread_join(thread, NULL);
    pthread_key_delete(created);
    never_created = created;
    if (pthread_setspecific(never_created, &value) != EINVAL)
        abort();
    return 0;
}
