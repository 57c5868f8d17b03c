// Each iteration waits for the one two before it, and reads what the one before it wrote.
#include <stdio.h>

int main(void)
{
    int cells[8] = {1, 1};
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(2)
    for (int i = 2; i < 8; i++) {
#pragma omp ordered depend(sink : i - 2)
        cells[i] = cells[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    printf("%d\n", cells[7]);
    return 0;
}
