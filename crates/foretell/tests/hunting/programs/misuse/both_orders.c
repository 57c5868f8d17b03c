// One thread takes two locks in both orders. It cannot deadlock with itself, but the code can with a second thread.
#include <pthread.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static int total, entries;

static void pay(void)
{
    pthread_mutex_lock(&accounts);
    pthread_mutex_lock(&journal);
    total--;
    entries++;
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&accounts);
}

static void audit(void)
{
#ifdef FIXED
    pthread_mutex_lock(&accounts);
#endif
    pthread_mutex_lock(&journal);
#ifndef FIXED
    pthread_mutex_lock(&accounts);
#endif
    entries += total;
    pthread_mutex_unlock(&accounts);
    pthread_mutex_unlock(&journal);
}

int main(void)
{
    pay();
    audit();
    return entries > 100;
}
