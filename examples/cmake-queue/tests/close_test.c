/* Two consumers take what one producer pushes, and end when the queue is closed. */
#include "queue.h"

#include <stdio.h>
#include <unistd.h>

enum { CONSUMERS = 2, ITEMS = 4 };

static struct queue queue;

static void *consume(void *sum)
{
    int item;

    while (queue_pop(&queue, &item))
        *(int *)sum += item;
    return NULL;
}

int main(void)
{
    pthread_t consumers[CONSUMERS];
    int sums[CONSUMERS] = {0};
    int total = 0;

    queue_init(&queue);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consume, &sums[i]);
    for (int i = 1; i <= ITEMS; i++)
        queue_push(&queue, i);
    usleep(10000);
    queue_close(&queue);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(consumers[i], NULL);
        total += sums[i];
    }
    printf("%d items, sum %d\n", ITEMS, total);
    return total == ITEMS * (ITEMS + 1) / 2 ? 0 : 1;
}
