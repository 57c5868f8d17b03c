/* Each iteration writes the same variable, and there are more threads than the two that a race needs: they all have to be there before one of them begins. */
int main(void)
{
    int last = 0;
#pragma omp parallel for num_threads(8)
    for (int i = 0; i < 64; i++)
        last = i;
    return last < 0;
}
