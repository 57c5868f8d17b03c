/* Reconstruction of atom001 of paper 5's table 3, after the bug in MySQL that AVIO made known: a monitor looks whether there is
 * a status text and then prints it; the session clears it in between. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *proc_info;

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
    return NULL;
}

static void *session(void *unused)
{
    (void)unused;
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
