// Regions, loops of every schedule, reductions, critical sections, barriers, single, sections, ordered, locks, tasks: all in order.
#include <omp.h>
#include <stdio.h>

static int cells[16], sum, counted, once, parts[2], chain[4], shared;

static int fibonacci(int n)
{
    int left, right;
    if (n < 2)
        return n;
#pragma omp task shared(left)
    left = fibonacci(n - 1);
#pragma omp task shared(right)
    right = fibonacci(n - 2);
#pragma omp taskwait
    return left + right;
}

int main(void)
{
    int result = 0, first = 0, second = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 16; i++)
        cells[i] = i;
#pragma omp parallel for num_threads(2) schedule(dynamic, 3) reduction(+ : sum)
    for (int i = 0; i < 16; i++)
        sum += cells[i];
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        counted++;
#pragma omp barrier
#pragma omp single
        once = counted;
#pragma omp for schedule(guided)
        for (int i = 0; i < 16; i++)
            cells[i] += once;
#pragma omp sections
        {
#pragma omp section
            parts[0] = cells[0];
#pragma omp section
            parts[1] = cells[15];
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            chain[0] += i;
        }
        omp_set_lock(&lock);
        shared++;
        omp_unset_lock(&lock);
#pragma omp master
        chain[1] = 1;
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        result = fibonacci(4);
#pragma omp task depend(out : first)
        first = 1;
#pragma omp task depend(in : first) depend(out : second)
        second = first + 1;
    }
    omp_destroy_lock(&lock);
    printf("%d %d %d %d %d %d %d\n", sum, once, parts[1], chain[0], shared, result, second);
    return sum == 120 && once == 2 && shared == 2 && result == 3 && second == 2 ? 0 : 1;
}
