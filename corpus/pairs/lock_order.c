/* Correct: every transfer locks the account with the smaller number first. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account accounts[2] = {
    {PTHREAD_MUTEX_INITIALIZER, 100},
    {PTHREAD_MUTEX_INITIALIZER, 100},
};

static void transfer(int from, int to, int amount)
{
    int first = from < to ? from : to;
    int second = from < to ? to : from;

    pthread_mutex_lock(&accounts[first].lock);
    pthread_mutex_lock(&accounts[second].lock);
    accounts[from].balance -= amount;
    accounts[to].balance += amount;
    pthread_mutex_unlock(&accounts[second].lock);
    pthread_mutex_unlock(&accounts[first].lock);
}

static void *alice(void *unused)
{
    transfer(0, 1, 30);
    return unused;
}

static void *bob(void *unused)
{
    transfer(1, 0, 10);
    return unused;
}

int main(void)
{
    pthread_t customers[2];

    pthread_create(&customers[0], NULL, alice, NULL);
    pthread_create(&customers[1], NULL, bob, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(customers[i], NULL);
    assert(accounts[0].balance == 80 && accounts[1].balance == 120);
    puts("balances 80 and 120");
    return 0;
}
