/* Reconstruction of atom001a of paper 5's table 3: atom001, but the session clears the text only after the monitor has said that it
 * has printed it. No lock says so, only the value of a flag. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *proc_info;
static int printed;

static void *monitor(void *unused)
{
    const char *seen, *used = "";

    (void)unused;
    pthread_mutex_lock(&lock);
    seen = proc_info;
    pthread_mutex_unlock(&lock);
    if (seen) {
        pthread_mutex_lock(&lock);
        used = proc_info;
        pthread_mutex_unlock(&lock);
    }
    puts(used);
    pthread_mutex_lock(&lock);
    printed = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *session(void *unused)
{
    int done;

    (void)unused;
    do {
        pthread_mutex_lock(&lock);
        done = printed;
        pthread_mutex_unlock(&lock);
    } while (!done);
    pthread_mutex_lock(&lock);
    proc_info = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t watching, serving;

    proc_info = "sorting";
    pthread_create(&watching, NULL, monitor, NULL);
    pthread_create(&serving, NULL, session, NULL);
    pthread_join(watching, NULL);
    pthread_join(serving, NULL);
    return 0;
}
