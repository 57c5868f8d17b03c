/* Data is handed over by a library: the reader waits for it, since the writer takes its time. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

void hand_over(void);
void take_over(void);

static int data;

static void *give(void *unused)
{
    usleep(200000);
    data = 42;
    hand_over();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, give, 0);
    take_over();
    printf("%d\n", data);
    pthread_join(thread, 0);
    return 0;
}
