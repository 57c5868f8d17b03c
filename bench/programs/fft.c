// A fast Fourier transform of 2^BITS points, the butterflies of each pass dealt out to threads, a barrier after each pass,
// after Splash's fft. fft BITS THREADS
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int bits, threads;
static long points;
static double *re, *im, *cosines, *sines;
static pthread_barrier_t pass_done;

static void *transform(void *number)
{
    long own = (long)number, pairs = points / 2;
    long first = pairs * own / threads, last = pairs * (own + 1) / threads;

    for (int pass = 0; pass < bits; pass++) {
        long half = 1L << pass;
        for (long pair = first; pair < last; pair++) {
            long offset = pair & (half - 1), a = ((pair - offset) << 1) + offset, b = a + half;
            long angle = offset << (bits - 1 - pass);
            double x = re[b] * cosines[angle] - im[b] * sines[angle];
            double y = re[b] * sines[angle] + im[b] * cosines[angle];
            re[b] = re[a] - x;
            im[b] = im[a] - y;
            re[a] += x;
            im[a] += y;
        }
        pthread_barrier_wait(&pass_done);
    }
    return NULL;
}

static double *vector(long length)
{
    return calloc((size_t)length, sizeof(double));
}

int main(int count, char **arguments)
{
    bits = count > 1 ? atoi(arguments[1]) : 14;
    threads = count > 2 ? atoi(arguments[2]) : 4;
    points = 1L << bits;
    re = vector(points), im = vector(points), cosines = vector(points / 2), sines = vector(points / 2);
    for (long i = 0; i < points / 2; i++) {
        cosines[i] = cos(-6.283185307179586 * (double)i / (double)points);
        sines[i] = sin(-6.283185307179586 * (double)i / (double)points);
    }
    for (long i = 0; i < points; i++) {
        long reversed = 0;
        for (int bit = 0; bit < bits; bit++)
            reversed |= (i >> bit & 1) << (bits - 1 - bit);
        re[reversed] = (double)(i * 7919 % 1000) / 1000;
    }
    pthread_barrier_init(&pass_done, NULL, (unsigned)threads);

    pthread_t *workers = malloc(sizeof *workers * (size_t)threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, transform, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    printf("%.6f\n", re[1]);
    return 0;
}
