/* A bank with two customers who send each other money at the same time. Every account has a lock, and a transfer locks
 * both of its accounts, the one with the lower number first. No money may appear or vanish.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    int number;
    int balance;
};

static struct account alice = {PTHREAD_MUTEX_INITIALIZER, 1, 100};
static struct account bob = {PTHREAD_MUTEX_INITIALIZER, 2, 100};

static void transfer(struct account *from, struct account *to, int amount)
{
    struct account *first = from->number < to->number ? from : to;
    struct account *second = first == from ? to : from;

    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *alice_pays(void *unused)
{
    transfer(&alice, &bob, 30);
    return unused;
}

static void *bob_pays(void *unused)
{
    usleep(1000); /* Bob has to find his card */
    transfer(&bob, &alice, 50);
    return unused;
}

int main(void)
{
    pthread_t customers[2];
    int total;

    pthread_create(&customers[0], NULL, alice_pays, NULL);
    pthread_create(&customers[1], NULL, bob_pays, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(customers[i], NULL);

    total = alice.balance + bob.balance;
    printf("the bank holds %d\n", total);
    return total == 200 ? 0 : 1;
}
