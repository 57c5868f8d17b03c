/* A queue of numbers for threads: producers push, consumers wait and pop until the queue is closed. */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdbool.h>

enum { QUEUE_CAPACITY = 16 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int items[QUEUE_CAPACITY];
    int first;
    int count;
    bool closed;
};

void queue_init(struct queue *queue);

/* Adds an item; false if the queue is full or closed. */
bool queue_push(struct queue *queue, int item);

/* Waits for an item; false if the queue is closed and empty. */
bool queue_pop(struct queue *queue, int *item);

/* Lets consumers take what is left, and then end. */
void queue_close(struct queue *queue);

#endif
