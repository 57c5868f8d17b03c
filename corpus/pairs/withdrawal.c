/* Two customers withdraw from one account. Whether the balance suffices is checked in the same locked region
 * in which it is reduced. The exit status says whether the account was overdrawn. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *withdraw(void *unused)
{
    pthread_mutex_lock(&lock);
    if (balance >= 80)
        balance -= 80;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, withdraw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("balance %d\n", balance);
    return balance < 0 ? 7 : 0;
}
