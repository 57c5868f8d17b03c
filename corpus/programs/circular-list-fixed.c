/* Reconstruction, after the name alone of the circular list among the examples of the tool Maple (maple-cir-list in paper 1): fixed
 * by moving the item and by looking at the list in one section each. */
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

    item = items[head];
    head = (head + 1) % CAPACITY;
    length--;
    return item;
}

static void append(int item)
{
    items[(head + length) % CAPACITY] = item;
    length++;
}

static void *rotate(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&list_lock);
    append(remove_first());
    pthread_mutex_unlock(&list_lock);
    return NULL;
}

static void *watch(void *unused)
{
    int first, count;

    (void)unused;
    pthread_mutex_lock(&list_lock);
    first = items[head];
    count = length;
    pthread_mutex_unlock(&list_lock);
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
