/* The letter is announced by a store that orders nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int letter, copy;
static atomic_int delivered;

static void *writer(void *unused)
{
    letter = 42;
    atomic_store_explicit(&delivered, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused)
{
    if (atomic_load_explicit(&delivered, memory_order_acquire))
        copy = letter;
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, writer, NULL);
    pthread_create(&second, NULL, reader, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return copy == 1;
}
