#include "queue.h"

void queue_init(struct queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->first = 0;
    queue->count = 0;
    queue->closed = false;
}

bool queue_push(struct queue *queue, int item)
{
    pthread_mutex_lock(&queue->lock);
    bool has_room = !queue->closed && queue->count < QUEUE_CAPACITY;
    if (has_room) {
        queue->items[(queue->first + queue->count) % QUEUE_CAPACITY] = item;
        queue->count++;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return has_room;
}

bool queue_pop(struct queue *queue, int *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool has_item = queue->count > 0;
    if (has_item) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % QUEUE_CAPACITY;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->lock);
    return has_item;
}

void queue_close(struct queue *queue)
{
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
}
