#include <signal.h>
#include <stdlib.h>

static void *kept;

static void handler(int signal)
{
    (void)signal;
    free(kept);
    kept = malloc(16);
}

int main(void)
{
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return 0;
}
