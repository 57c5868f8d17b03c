// The tasks of a loop count together.
#include <stdio.h>

static int count;

int main(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskloop num_tasks(4)
    for (int i = 0; i < 4; i++)
        count++;
    printf("%d\n", count);
    return 0;
}
