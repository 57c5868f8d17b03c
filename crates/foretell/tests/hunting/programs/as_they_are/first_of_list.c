/* Correct: which element is the first when the main thread looks depends on the order of the threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct element {
    int number;
    struct element *next;
};

static struct element *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct element *element(int number)
{
    struct element *made = malloc(sizeof *made);

    made->number = number;
    made->next = NULL;
    return made;
}

static void *insert(void *unused)
{
    struct element *made = element(7);

    pthread_mutex_lock(&lock);
    made->next = list->next;
    list->next = made;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;

    list = element(3);
    list->next = element(9);
    pthread_create(&thread, NULL, insert, NULL);
    pthread_mutex_lock(&lock);
    int first = list->next->number;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("%d\n", first);
    return 0;
}
