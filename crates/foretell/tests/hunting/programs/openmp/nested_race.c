// Each inner region excludes its own threads from each other, but not those of the other one.
#include <omp.h>
#include <stdio.h>

static int count;
static omp_lock_t locks[2];

int main(void)
{
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        omp_lock_t *own = &locks[omp_get_thread_num()];
#pragma omp parallel num_threads(2)
        {
            omp_set_lock(own);
            count++;
            omp_unset_lock(own);
        }
    }
    printf("%d\n", count);
    return 0;
}
