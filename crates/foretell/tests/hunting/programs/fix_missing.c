/* The lock is not taken for the deposits at two lines of one function: one fix covers both. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
static int savings;

static void withdraw(void)
{
    pthread_mutex_lock(&vault);
    savings--;
    pthread_mutex_unlock(&vault);
}

static void deposit(void)
{
    savings += 2;
    savings += 3;
}

static void *visit(void *pays)
{
    withdraw();
    if (pays)
        deposit();
    return NULL;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, visit, NULL);
    pthread_create(&second, NULL, visit, &second);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
