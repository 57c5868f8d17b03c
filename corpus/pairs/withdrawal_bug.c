/* Wrong: the lock is released between the check and the withdrawal, so both customers may find the balance
 * sufficient. No assertion fails then: only the output and the exit status differ. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int suffices(void)
{
    int result;

    pthread_mutex_lock(&lock);
    result = balance >= 80;
    pthread_mutex_unlock(&lock);
    return result;
}

static void *withdraw(void *unused)
{
    if (suffices()) {
        pthread_mutex_lock(&lock);
        balance -= 80;
        pthread_mutex_unlock(&lock);
    }
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
