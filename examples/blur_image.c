/* Blurs an image, one worker a row. A worker that starts is given the next free row; it loads the row, waits until all
 * workers are there, and then mixes its row with the others.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define ROWS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int workers;

static int rows[ROWS], blurred[ROWS];

static int sign_in(void)
{
    int row;

    pthread_mutex_lock(&lock);
    row = workers++;
    pthread_mutex_unlock(&lock);
    return row;
}

static int all_there(void)
{
    int there;

    pthread_mutex_lock(&lock);
    there = workers == ROWS;
    pthread_mutex_unlock(&lock);
    return there;
}

static void *blur(void *unused)
{
    int row = sign_in();

    rows[row] = 30 * (row + 1);
    while (!all_there())
        usleep(1000);
    blurred[row] = (rows[0] + rows[1] + rows[2]) / ROWS;
    return unused;
}

int main(void)
{
    pthread_t threads[ROWS];
    int failed = 0;

    for (int i = 0; i < ROWS; i++)
        pthread_create(&threads[i], NULL, blur, NULL);
    for (int i = 0; i < ROWS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < ROWS; i++)
        failed |= blurred[i] != 60;
    printf("rows are %d, %d and %d\n", blurred[0], blurred[1], blurred[2]);
    return failed;
}
