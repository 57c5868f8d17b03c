// The block grows where it is, so its address is the same; but the other thread uses a block that may be gone.
#include <pthread.h>
#include <stdlib.h>

static void *set(void *block)
{
    *(int *)block = 1;
    return NULL;
}

int main(void)
{
    int *block = malloc(4);
    pthread_t setter;

    pthread_create(&setter, NULL, set, block);
    block = realloc(block, 8);
    pthread_join(setter, NULL);
    return *block == 7;
}
