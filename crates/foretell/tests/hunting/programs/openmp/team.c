// A reduction, a critical section, a barrier and a single, all in order.
#include <stdio.h>

int main(void)
{
    int sum = 0, cells[16];
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 16; i++) {
        cells[i] = i;
        sum += i;
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        sum++;
#pragma omp barrier
#pragma omp single
        sum += cells[3];
    }
    printf("%d\n", sum);
    return 0;
}
