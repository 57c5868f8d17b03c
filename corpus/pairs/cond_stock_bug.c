/* Wrong: a customer who wakes up does not look again, so two who wake up for the same item both take it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t restocked = PTHREAD_COND_INITIALIZER;
static int stock;

static void *buy(void *unused)
{
    pthread_mutex_lock(&lock);
    if (stock == 0)
        pthread_cond_wait(&restocked, &lock);
    stock--;
    assert(stock >= 0);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void deliver(void)
{
    pthread_mutex_lock(&lock);
    stock++;
    pthread_cond_broadcast(&restocked);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    pthread_t customers[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&customers[i], NULL, buy, NULL);
    for (int i = 0; i < 2; i++)
        deliver();
    for (int i = 0; i < 2; i++)
        pthread_join(customers[i], NULL);
    printf("stock %d\n", stock);
    return 0;
}
