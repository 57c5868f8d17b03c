// A sum is used before all threads have added their part.
#include <stdio.h>

int main(void)
{
    int sum = 0, seen = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for reduction(+ : sum) nowait
        for (int i = 0; i < 8; i++)
            sum += i;
#pragma omp master
        seen = sum;
    }
    printf("%d\n", seen);
    return 0;
}
