// Two tasks that only read what they depend on run at the same time, and both write.
#include <stdio.h>

int main(void)
{
    int input = 0, output = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : input) shared(input)
        input = 1;
#pragma omp task depend(in : input) shared(input, output)
        output += input;
#pragma omp task depend(in : input) shared(input, output)
        output += input;
    }
    printf("%d\n", output);
    return 0;
}
