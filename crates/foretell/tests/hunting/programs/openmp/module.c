// A module that is loaded while the program runs, and the only one that needs an OpenMP library.
#include <stdio.h>

static int count;

void work(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        count++;
    }
    printf("%d\n", count);
}
