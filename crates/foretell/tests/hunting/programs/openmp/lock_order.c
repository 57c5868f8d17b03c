// Two threads take two locks in opposite order.
#include <omp.h>

static omp_lock_t one, other;
static int x;

int main(void)
{
    omp_init_lock(&one);
    omp_init_lock(&other);
#pragma omp parallel num_threads(2)
    {
        omp_lock_t *first = omp_get_thread_num() ? &one : &other;
        omp_lock_t *second = omp_get_thread_num() ? &other : &one;
        omp_set_lock(first);
        omp_set_lock(second);
        x++;
        omp_unset_lock(second);
        omp_unset_lock(first);
    }
    return 0;
}
