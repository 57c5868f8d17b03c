/* Reconstruction, modelled on the Mozilla bug that paper 1 calls NodeState (it gives no more than the name; the code is ours): fixed by
 * changing the number of nodes and the state that goes with it in one section. */
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
    pthread_mutex_lock(&lock);
    state = node_state;
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
    node_state = READY;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
