// The increment is in no critical section.
#include <stdio.h>

static int protected, bad;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        protected++;
        bad++;
    }
    printf("%d\n", protected);
    return 0;
}
