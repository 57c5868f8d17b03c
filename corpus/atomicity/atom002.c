/* Reconstruction of atom002 of paper 5's table 3: atom001, but the monitor counts what it has printed and the session takes note of the count
 * before it clears the text. It clears it whatever the count is, so the bug is there; but a read sees what a write left. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *proc_info;
static int prints;
static int noted;

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
    prints = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *session(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    noted = prints;
    pthread_mutex_unlock(&lock);
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
    printf("%d printed\n", noted);
    return 0;
}
