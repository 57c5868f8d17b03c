// Nobody waits for the task before its result is used.
#include <stdio.h>

// Not static: clang would see that nothing else writes them, and remove what it reads.
int result, seen;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        result = 42;
        seen = result;
    }
    printf("%d\n", seen >= 0);
    return 0;
}
