// expect: none
// Whoever gives up the last reference frees the block; nobody touches it afterwards.
#include <stdatomic.h>

#include "scenario.h"

struct block {
    atomic_int references;
    int value;
};

static int seen[2];

static void give_up(struct block *block)
{
    if (atomic_fetch_sub(&block->references, 1) == 1)
        free(block);
}

struct visit {
    struct block *block;
    int *seen;
};

static void *visitor(void *argument)
{
    struct visit *visit = argument;

    *visit->seen = visit->block->value;
    give_up(visit->block);
    return NULL;
}

int main(void)
{
    struct block *block = malloc(sizeof *block);

    if (!block)
        abort();
    atomic_init(&block->references, 2);
    block->value = 42;
    struct visit visits[] = {{block, &seen[0]}, {block, &seen[1]}};
    pthread_t threads[] = {start(visitor, &visits[0]), start(visitor, &visits[1])};
    finish(threads[0]);
    finish(threads[1]);
    printf("seen %d %d\n", seen[0], seen[1]);
    return 0;
}
