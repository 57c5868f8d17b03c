/* Reconstruction, modelled on the Mozilla bug that paper 1 calls NodeState (it gives no more than the name; the code is ours): the number of
 * nodes is changed with the lock held, the state that goes with it without. */
#include <pthread.h>
#include <stdio.h>

enum state { LOADING, READY };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int node_count;
static enum state node_state = LOADING;

static void *visit(void *unused)
{
    enum state state;
    int count;

    (void)unused;
    state = node_state;
    pthread_mutex_lock(&lock);
    count = node_count;
    pthread_mutex_unlock(&lock);
    printf("%s with %d nodes\n", state == READY ? "ready" : "loading", count);
    return NULL;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, visit, NULL);
    pthread_mutex_lock(&lock);
    node_count = 1;
    pthread_mutex_unlock(&lock);
    node_state = READY;
    pthread_join(thread, NULL);
    return 0;
}
