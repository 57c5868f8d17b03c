/* Correct: readers share the lock, and the writer holds it alone while the two columns differ. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int debit, credit;

static void *check_books(void *unused)
{
    pthread_rwlock_rdlock(&lock);
    assert(debit == credit);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *enter_sale(void *unused)
{
    pthread_rwlock_wrlock(&lock);
    debit += 7;
    credit += 7;
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[3];

    pthread_create(&threads[0], NULL, check_books, NULL);
    pthread_create(&threads[1], NULL, enter_sale, NULL);
    pthread_create(&threads[2], NULL, check_books, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("debit %d, credit %d\n", debit, credit);
    return 0;
}
