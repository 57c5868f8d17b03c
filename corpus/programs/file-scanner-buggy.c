/* Reconstruction, modelled on pfscan 1.0, a parallel file scanner: workers take files off a queue. Which races paper 1 found there it
 * does not say; these are made to its counts. The start-up code sets what the workers need only after it has created
 * them; a worker may take the lock, and look at the setting, first. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FILES 3

static const char *const contents[FILES] = { "a needle", "nothing", "needles" };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static const char *queue[FILES];
static int nentries;

static size_t line_max;
static const char *pattern;

static pthread_mutex_t matches_lock = PTHREAD_MUTEX_INITIALIZER;
static int matches;

static void *worker(void *unused)
{
    const char *text, *wanted;
    size_t limit;

    (void)unused;
    pthread_mutex_lock(&queue_lock);
    limit = line_max;
    while (nentries == 0)
        pthread_cond_wait(&more, &queue_lock);
    nentries--;
    text = queue[nentries];
    pthread_mutex_unlock(&queue_lock);
    wanted = pattern;
    if (strlen(text) <= limit && strstr(text, wanted) != NULL) {
        pthread_mutex_lock(&matches_lock);
        matches++;
        pthread_mutex_unlock(&matches_lock);
    }
    return NULL;
}

static void enqueue(const char *text)
{
    pthread_mutex_lock(&queue_lock);
    queue[nentries] = text;
    nentries++;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&queue_lock);
}

int main(void)
{
    pthread_t workers[FILES];

    for (int i = 0; i < FILES; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    line_max = 80;
    pattern = "needle";
    for (int i = 0; i < FILES; i++)
        enqueue(contents[i]);
    for (int i = 0; i < FILES; i++)
        pthread_join(workers[i], NULL);
    printf("%d matches\n", matches);
    return 0;
}
