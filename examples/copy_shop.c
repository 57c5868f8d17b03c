/* A copy shop with a scanner, a printer and one network drive. A copy needs scanner and printer, a print-out printer and
 * drive, an archive job drive and scanner.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t scanner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t printer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t drive = PTHREAD_MUTEX_INITIALIZER;
static int pages_copied, pages_printed, pages_archived;

static void *copy(void *unused)
{
    pthread_mutex_lock(&scanner);
    pthread_mutex_lock(&printer); /* for the copy */
    pages_copied = 2;
    pthread_mutex_unlock(&printer);
    pthread_mutex_unlock(&scanner);
    return unused;
}

static void *print(void *unused)
{
    usleep(10000); /* the customer looks for the file */
    pthread_mutex_lock(&printer);
    pthread_mutex_lock(&drive); /* where the file is */
    pages_printed = 8;
    pthread_mutex_unlock(&drive);
    pthread_mutex_unlock(&printer);
    return unused;
}

static void *archive(void *unused)
{
    usleep(20000); /* the customer sorts the pages */
    pthread_mutex_lock(&drive);
    pthread_mutex_lock(&scanner); /* for the original */
    pages_archived = 5;
    pthread_mutex_unlock(&scanner);
    pthread_mutex_unlock(&drive);
    return unused;
}

int main(void)
{
    pthread_t customers[3];

    pthread_create(&customers[0], NULL, copy, NULL);
    pthread_create(&customers[1], NULL, print, NULL);
    pthread_create(&customers[2], NULL, archive, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(customers[i], NULL);

    printf("%d pages copied, %d printed, %d archived\n", pages_copied, pages_printed, pages_archived);
    return 0;
}
