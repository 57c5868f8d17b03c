/* Reconstruction of the parameterised bank of paper 5's table 3 (after Farchi, Nir and Ur): each teller withdraws from an account of its own
 * if it covers the amount, and then settles the next one, whatever is on it. Every access is locked, but the look and the
 * withdrawal are two sections, so a settlement can come between.
 *
 * -DFIX=0  bank-av   as it is
 * -DFIX=1  bank-sav  nobody settles before the day is over; but the day may be over before a withdrawal is
 * -DFIX=2  bank-nav  who settles an account waits for its transaction lock, which its teller holds from the start: a flag */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifndef TELLERS
#define TELLERS 8
#endif
#ifndef FIX
#define FIX 0
#endif

static pthread_mutex_t lock[TELLERS];
static int balance[TELLERS];
#if FIX == 1
static pthread_mutex_t day = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static int day_over;
#elif FIX == 2
static atomic_int released[TELLERS];
#endif

static void withdraw(int account, int amount)
{
    int covered;

    pthread_mutex_lock(&lock[account]);
    covered = balance[account] >= amount;
    pthread_mutex_unlock(&lock[account]);
    if (covered) {
        pthread_mutex_lock(&lock[account]);
        balance[account] -= amount;
        pthread_mutex_unlock(&lock[account]);
    }
#if FIX == 2
    atomic_store(&released[account], 1);
#endif
}

static void settle(int account)
{
#if FIX == 1
    pthread_mutex_lock(&day);
    if (!day_over)
        pthread_cond_wait(&over, &day);
    pthread_mutex_unlock(&day);
#elif FIX == 2
    while (!atomic_load(&released[account]))
        ;
#endif
    pthread_mutex_lock(&lock[account]);
    balance[account] = 100;
    pthread_mutex_unlock(&lock[account]);
}

static void *teller(void *number)
{
    int account = (int)(long)number;

    withdraw(account, 10);
    settle((account + 1) % TELLERS);
    return NULL;
}

int main(void)
{
    pthread_t tellers[TELLERS];

    for (int i = 0; i < TELLERS; i++) {
        pthread_mutex_init(&lock[i], NULL);
        balance[i] = 50;
    }
    for (int i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, teller, (void *)(long)i);
#if FIX == 1
    pthread_mutex_lock(&day);
    day_over = 1;
    pthread_cond_broadcast(&over);
    pthread_mutex_unlock(&day);
#endif
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    puts("closed");
    return 0;
}
