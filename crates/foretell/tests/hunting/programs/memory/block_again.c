/* A list under a lock, in fresh blocks: whatever comes first, all of them are initialised before others see them. A block that one run
   allocates first may be another run's second. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

static struct node *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *node(int value)
{
    struct node *made = malloc(sizeof *made);
    made->value = value;
    made->next = 0;
    return made;
}

static void *insert(void *unused)
{
    struct node *own = node(7);
    pthread_mutex_lock(&lock);
    own->next = list->next;
    list->next = own;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    list = node(3);
    list->next = node(9);
    pthread_create(&thread, 0, insert, 0);
    pthread_mutex_lock(&lock);
    int value = list->next->value;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return value == 0;
}
