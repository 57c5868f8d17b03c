// expect: race parts @ "parts[i] = i + 1;" ~ "sum = parts[0] + parts[1];"
// Two deliver, and the assembler waits for one of them only.
#include <semaphore.h>

#include "scenario.h"

static sem_t delivered;
static int parts[2], sum;

static void *supplier(void *argument)
{
    int i = (int)(intptr_t)argument;

    parts[i] = i + 1;
    sem_post(&delivered);
    return NULL;
}

static void *assembler(void *unused)
{
    nap(3);
    sem_wait(&delivered);
    sum = parts[0] + parts[1];
    return unused;
}

int main(void)
{
    sem_init(&delivered, 0, 0);
    pthread_t threads[] = {start(supplier, (void *)0), start(supplier, (void *)1), start(assembler, NULL)};

    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    printf("sum %d\n", sum);
    return 0;
}
