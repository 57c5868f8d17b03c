#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

long cells[8];
static int kill_self;

static void *work(void *arg)
{
    for (long i = 0;; i++) {
        cells[i & 7] = i;
        if (kill_self && i == 20000)
            kill(getpid(), SIGKILL);
        if (i == 2000)
            write(1, "s", 1);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    kill_self = argc > 1 && !strcmp(argv[1], "kill");
    pthread_create(&worker, 0, work, 0);
    work(0);
    return 0;
}
