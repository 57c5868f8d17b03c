// LU decomposition without pivoting, rows dealt out to threads, a barrier after each column. lu N THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int size, threads;
static double *matrix;
static pthread_barrier_t column_done;

static void *eliminate(void *number)
{
    int own = (int)(long)number;

    for (int k = 0; k < size; k++) {
        double *pivot = matrix + (long)k * size;
        for (int i = k + 1; i < size; i++) {
            if (i % threads != own)
                continue;
            double *row = matrix + (long)i * size;
            double factor = row[k] /= pivot[k];
            for (int j = k + 1; j < size; j++)
                row[j] -= factor * pivot[j];
        }
        pthread_barrier_wait(&column_done);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    size = count > 1 ? atoi(arguments[1]) : 200;
    threads = count > 2 ? atoi(arguments[2]) : 4;
    matrix = malloc(sizeof *matrix * size * size);
    for (long i = 0; i < (long)size * size; i++)
        matrix[i] = (double)(i * 7919 % 1000) / 1000 + (i % (size + 1) ? 0 : size);
    pthread_barrier_init(&column_done, NULL, threads);

    pthread_t *workers = malloc(sizeof *workers * threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, eliminate, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    printf("%.6f\n", matrix[(long)size * size - 1]);
    return 0;
}
