// Three races, each feasible under a weaker model than the one below it in the source. With the first thread ahead of the second:
// `possible` only if the second may see another `gate`, by which it decides; `likely` only if it may see another `count`; `plain` as it is.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
int gate, count, possible, likely, plain;

static void pass_gate(void)
{
    pthread_mutex_lock(&gate_lock);
    if (++gate == 3)
        puts("never");
    pthread_mutex_unlock(&gate_lock);
}

static void add_to_count(void)
{
    pthread_mutex_lock(&count_lock);
    count++;
    pthread_mutex_unlock(&count_lock);
}

static void *ahead(void *nothing)
{
    possible = 1;
    pass_gate();
    likely = 1;
    add_to_count();
    plain = 1;
    return nothing;
}

static void *behind(void *nothing)
{
    pass_gate();
    possible = 2;
    add_to_count();
    likely = 2;
    plain = 2;
    return nothing;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, ahead, NULL);
    pthread_create(&threads[1], NULL, behind, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
