#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void handler(int signal)
{
    (void)signal;
    close(-1);
}

int main(void)
{
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return 0;
}
