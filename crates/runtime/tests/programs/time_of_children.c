// Children that are not recorded live in real time, from where their parent was. Fails at the line of what is wrong.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
    do \
        if (!(what)) \
            _exit(__LINE__); \
    while (0)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(void)
{
    double begin = now();
    sleep(3600);
    int status, child = fork();
    if (child == 0) {
        double born = now();
        CHECK(born >= begin + 3600);
        usleep(300000);
        CHECK(now() - born >= 0.3 && now() - born < 20);
        _exit(0);
    }
    // Time does not run away while somebody outside needs it.
    double polled = now();
    while (waitpid(child, &status, WNOHANG) == 0) {
        CHECK(now() - polled < 30);
        usleep(1000);
    }
    CHECK(status == 0);
    polled = now();
    child = fork();
    if (child == 0) {
        usleep(300000);
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0 && now() - polled >= 0.28);
    begin = now();
    sleep(3600);
    CHECK(now() - begin >= 3600 && now() - begin < 3601);
    return 0;
}
