// Two critical sections are entered in opposite order.
#include <stdio.h>

static int x;

int main(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
#pragma omp critical(one)
#pragma omp critical(other)
            x++;
        }
#pragma omp section
        {
#pragma omp critical(other)
#pragma omp critical(one)
            x++;
        }
    }
    printf("%d\n", x);
    return 0;
}
