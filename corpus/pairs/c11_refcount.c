/* Correct: the thread whose own decrement takes the count from 1 to 0 frees the buffer, so exactly one does.
 * * */
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
    if (atomic_fetch_sub(&shared->references, 1) == 1)
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
