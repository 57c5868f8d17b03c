// expect: race price @ "price = 7;" ~ "seen = price;"
// A third thread, with a section of each lock, seems to pass the order on.
#include "scenario.h"

static pthread_mutex_t shop = PTHREAD_MUTEX_INITIALIZER, stock = PTHREAD_MUTEX_INITIALIZER;
static int price, seen, shop_last, stock_last;

static void *manager(void *unused)
{
    price = 7;
    pthread_mutex_lock(&shop);
    shop_last = 1;
    pthread_mutex_unlock(&shop);
    return unused;
}

static void *clerk(void *unused)
{
    nap(3);
    pthread_mutex_lock(&shop);
    shop_last = 2;
    pthread_mutex_unlock(&shop);
    pthread_mutex_lock(&stock);
    stock_last = 2;
    pthread_mutex_unlock(&stock);
    return unused;
}

static void *customer(void *unused)
{
    nap(6);
    pthread_mutex_lock(&stock);
    stock_last = 3;
    pthread_mutex_unlock(&stock);
    seen = price;
    return unused;
}

int main(void)
{
    pthread_t threads[] = {start(manager, NULL), start(clerk, NULL), start(customer, NULL)};

    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("seen %d, last %d %d\n", seen, shop_last, stock_last);
    return 0;
}
