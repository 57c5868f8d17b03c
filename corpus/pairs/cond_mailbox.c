/* Correct: the receiver waits only while the mailbox is empty, so a signal sent earlier is not missed. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int letter;

static void *send(void *unused)
{
    pthread_mutex_lock(&lock);
    letter = 42;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
    return unused;
}

static int receive(void)
{
    int received;

    pthread_mutex_lock(&lock);
    while (letter == 0)
        pthread_cond_wait(&arrived, &lock);
    received = letter;
    pthread_mutex_unlock(&lock);
    return received;
}

int main(void)
{
    pthread_t sender;

    pthread_create(&sender, NULL, send, NULL);
    printf("received %d\n", receive());
    pthread_join(sender, NULL);
    return 0;
}
