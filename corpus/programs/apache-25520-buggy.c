/* Reconstruction, modelled on Apache bug 25520: ap_buffered_log_writer of mod_log_config appends to a shared buffer
 * without a lock, so that lines of the access log overwrite each other. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LOG_BUFSIZE 64

static char outbuf[LOG_BUFSIZE];
static size_t outcnt;

static void buffered_log_writer(const char *line)
{
    size_t len = strlen(line);
    size_t at = outcnt;

    if (at + len <= LOG_BUFSIZE) {
        memcpy(&outbuf[at], line, len);
        outcnt = at + len;
    }
}

static void *worker(void *line)
{
    buffered_log_writer(line);
    return NULL;
}

int main(void)
{
    pthread_t first, second;

    pthread_create(&first, NULL, worker, "GET /a\n");
    pthread_create(&second, NULL, worker, "GET /b\n");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%zu bytes\n", outcnt);
    return 0;
}
