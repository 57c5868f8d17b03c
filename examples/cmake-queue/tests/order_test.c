/* Items come out in the order in which they went in. No threads. */
#include "queue.h"

#include <assert.h>

int main(void)
{
    struct queue queue;
    int item;

    queue_init(&queue);
    for (int i = 0; i < QUEUE_CAPACITY; i++)
        assert(queue_push(&queue, i));
    assert(!queue_push(&queue, QUEUE_CAPACITY));
    for (int i = 0; i < QUEUE_CAPACITY; i++)
        assert(queue_pop(&queue, &item) && item == i);
    return 0;
}
