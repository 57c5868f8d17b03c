// expect: atomicity price @ "seen = price;" < "price = 80;" < "price = seen + 5;"
// fails: exit 1
// One thread adds a fee to the price, another sets a new price. Every access is locked, but the fee is added in two sections.
#include "../scenarios/scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int price = 100;

static void *add_fee(void *unused)
{
    int seen;

    pthread_mutex_lock(&lock);
    seen = price;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    price = seen + 5;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *set_price(void *unused)
{
    nap(50);
    pthread_mutex_lock(&lock);
    price = 80;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(add_fee, NULL), start(set_price, NULL)};

    finish(threads[0]);
    finish(threads[1]);
    int final = price;
    printf("price %d\n", final);
    return final == 80 || final == 85 ? 0 : 1;
}
