/* Reconstruction, modelled on MySQL bug 791: the log is closed and opened again when it is rotated; a session that
 * looks at the flag in between, without the lock, does not log its statement. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock_log = PTHREAD_MUTEX_INITIALIZER;
static int log_open = 1;
static int log_number = 1;

static void *session(void *unused)
{
    int number = 0;

    (void)unused;
    if (log_open) {
        pthread_mutex_lock(&lock_log);
        number = log_number;
        pthread_mutex_unlock(&lock_log);
    }
    if (number == 0)
        puts("a statement is missing from the log");
    return NULL;
}

static void rotate(void)
{
    pthread_mutex_lock(&lock_log);
    log_open = 0;
    log_number = 2;
    log_open = 1;
    pthread_mutex_unlock(&lock_log);
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, session, NULL);
    rotate();
    pthread_join(thread, NULL);
    return 0;
}
