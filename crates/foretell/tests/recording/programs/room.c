// Writes a long log; with an argument, cuts the log short under the recorder.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long cells[4096];
static unsigned long state = 1;

static void *work(void *unused)
{
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&lock);
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        cells[state >> 52]++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void cut(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.log", getenv("FORETELL_RUN"), getpid());
    if (truncate(name, 8192) != 0)
        puts("there is no log to cut");
}

int main(int count, char **words)
{
    pthread_t thread;
    (void)words;
    pthread_create(&thread, NULL, work, NULL);
    if (count > 1)
        cut();
    work(NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
