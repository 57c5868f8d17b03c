// One thread could do both sections, but need not.
#include <stdio.h>

int main(void)
{
    int shared = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        shared = 1;
#pragma omp section
        shared = 2;
    }
    printf("%d\n", shared);
    return 0;
}
