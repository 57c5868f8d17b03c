// expect: none
// The fee is added in one section.
#include "../scenarios/scenario.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int price = 100;

static void *add_fee(void *unused)
{
    int seen;

    pthread_mutex_lock(&lock);
    seen = price;
    price = seen + 5;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *set_price(void *unused)
{
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
