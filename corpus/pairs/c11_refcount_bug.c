/* Wrong: the count is read again after the decrement, so both threads can see 0 and free the buffer twice. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct buffer {
    atomic_int references;
    int length;
};

static struct buffer *buffer;
static atomic_int lengths, frees;

static void destroy(struct buffer *shared)
{
    atomic_fetch_add(&frees, 1);
    free(shared);
}

static void release(struct buffer *shared)
{
    atomic_fetch_sub(&shared->references, 1);
    if (atomic_load(&shared->references) == 0)
        destroy(shared);
}

static void *use(void *unused)
{
    atomic_fetch_add(&lengths, buffer->length);
    release(buffer);
    return unused;
}

int main(void)
{
    pthread_t users[2];

    buffer = malloc(sizeof *buffer);
    atomic_init(&buffer->references, 2);
    buffer->length = 8;
    for (int i = 0; i < 2; i++)
        pthread_create(&users[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(users[i], NULL);
    assert(atomic_load(&frees) == 1);
    printf("lengths %d\n", atomic_load(&lengths));
    return 0;
}
