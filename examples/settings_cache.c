/* The settings of a program, made when they are first asked for. Asking is cheap: once the settings are there, no lock is
 * taken.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct settings {
    int timeout;
    int retries;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings storage;
static struct settings *volatile settings;

static struct settings *get_settings(void)
{
    if (settings == NULL) {
        pthread_mutex_lock(&lock);
        if (!settings) {
            settings = &storage;
            storage.timeout = 30;
            storage.retries = 3;
        }
        pthread_mutex_unlock(&lock);
    }
    return settings;
}

static void *connect_to_server(void *result)
{
    struct settings *mine = get_settings();

    *(int *)result = mine->timeout * mine->retries;
    return NULL;
}

static void *connect_to_backup(void *result)
{
    usleep(20000); /* only if the server is slow */
    return connect_to_server(result);
}

int main(void)
{
    pthread_t server, backup;
    int seconds[2];

    pthread_create(&server, NULL, connect_to_server, &seconds[0]);
    pthread_create(&backup, NULL, connect_to_backup, &seconds[1]);
    pthread_join(server, NULL);
    pthread_join(backup, NULL);

    printf("gave up after %d and %d seconds\n", seconds[0], seconds[1]);
    return seconds[0] == 90 && seconds[1] == 90 ? 0 : 1;
}
