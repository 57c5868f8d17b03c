/* Reconstruction, after the name alone of the circular list among the examples of the tool Maple (maple-cir-list in paper 1): a thread
 * moves the first item to the end in two steps, and another looks at the length between them, without the lock. */
#include <pthread.h>
#include <stdio.h>

#define CAPACITY 4

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static int items[CAPACITY] = { 1, 2, 3 };
static int head;
static int length = 3;

static int remove_first(void)
{
    int item;

    pthread_mutex_lock(&list_lock);
    item = items[head];
    head = (head + 1) % CAPACITY;
    length--;
    pthread_mutex_unlock(&list_lock);
    return item;
}

static void append(int item)
{
    pthread_mutex_lock(&list_lock);
    items[(head + length) % CAPACITY] = item;
    length++;
    pthread_mutex_unlock(&list_lock);
}

static void *rotate(void *unused)
{
    (void)unused;
    append(remove_first());
    return NULL;
}

static void *watch(void *unused)
{
    int first, count;

    (void)unused;
    pthread_mutex_lock(&list_lock);
    first = items[head];
    pthread_mutex_unlock(&list_lock);
    count = length;
    if (count != 3)
        printf("an item is missing: %d after %d\n", count, first);
    return NULL;
}

int main(void)
{
    pthread_t rotator, watcher;

    pthread_create(&rotator, NULL, rotate, NULL);
    pthread_create(&watcher, NULL, watch, NULL);
    pthread_join(rotator, NULL);
    pthread_join(watcher, NULL);
    return 0;
}
