/* Reconstruction of atom002a of paper 5's table 3: atom002, but the session clears the text only if something has been printed. */
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
    int count;

    (void)unused;
    pthread_mutex_lock(&lock);
    count = prints;
    pthread_mutex_unlock(&lock);
    noted = count;
    if (count > 0) {
        pthread_mutex_lock(&lock);
        proc_info = NULL;
        pthread_mutex_unlock(&lock);
    }
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
