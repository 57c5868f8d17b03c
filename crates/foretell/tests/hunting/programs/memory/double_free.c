/* Each thread frees the message if it thinks that the other has not. */
#include <pthread.h>
#include <stdlib.h>

static int *message;

static void *drops(void *unused)
{
#ifdef FIXED
    free(__atomic_exchange_n(&message, NULL, __ATOMIC_SEQ_CST));
#else
    int *mine = __atomic_load_n(&message, __ATOMIC_SEQ_CST);
    if (mine) {
        __atomic_store_n(&message, NULL, __ATOMIC_SEQ_CST);
        free(mine);
    }
#endif
    return unused;
}

int main(void)
{
    pthread_t first, second;
    __atomic_store_n(&message, malloc(sizeof *message), __ATOMIC_SEQ_CST);
    pthread_create(&first, NULL, drops, NULL);
    pthread_create(&second, NULL, drops, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
