/* A weather station. The sensor thread measures the temperature, the display thread shows it. Both keep a journal, which
 * a mutex guards.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SENSOR, DISPLAY, DEVICES };

static int temperature;
static int shown;

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *journal[DEVICES];

static void write_journal(int device, const char *entry)
{
    pthread_mutex_lock(&journal_lock);
    journal[device] = entry;
    pthread_mutex_unlock(&journal_lock);
}

static void *sensor(void *unused)
{
    temperature = 21;
    write_journal(SENSOR, "measured");
    return unused;
}

static void *display(void *unused)
{
    usleep(20000); /* the screen warms up */
    write_journal(DISPLAY, "switched on");
    shown = temperature;
    return unused;
}

int main(void)
{
    pthread_t devices[DEVICES];

    pthread_create(&devices[SENSOR], NULL, sensor, NULL);
    pthread_create(&devices[DISPLAY], NULL, display, NULL);
    for (int i = 0; i < DEVICES; i++)
        pthread_join(devices[i], NULL);

    printf("sensor %s, display %s: %d degrees\n", journal[SENSOR], journal[DISPLAY], shown);
    return shown == 21 ? 0 : 1;
}
