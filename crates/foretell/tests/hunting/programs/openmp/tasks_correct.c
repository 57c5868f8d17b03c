// Tasks with dependences, groups, loops of tasks, reductions over tasks, loops whose iterations wait, copied data, nested regions, detached tasks:
// all in order.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int chain, left, right, joined, cells[12], total, table[4][4], given, nested[4], detached, groups;

static void expect(int seen, int wanted, const char *what)
{
    if (seen != wanted) {
        fprintf(stderr, "%s: %d, not %d\n", what, seen, wanted);
        abort();
    }
}

int main(void)
{
    int sum = 0, counted = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task depend(inout : chain)
            chain = chain * 2 + 1;
        }
#pragma omp task depend(in : chain) depend(out : left)
        left = chain;
#pragma omp task depend(in : chain) depend(out : right)
        right = chain;
#pragma omp task depend(in : left, right)
        joined = left + right;
#pragma omp taskwait depend(in : left)
        expect(left, 15, "left");
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                groups = 1;
            }
        }
        expect(groups, 1, "groups");
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < 12; i++)
            cells[i] = i;
        for (int i = 0; i < 12; i++)
            total += cells[i];
#pragma omp taskloop num_tasks(3) reduction(+ : sum)
        for (int i = 11; i >= 0; i--)
            sum += cells[i];
#pragma omp taskgroup task_reduction(+ : counted)
        for (int i = 0; i < 5; i++) {
#pragma omp task in_reduction(+ : counted)
            counted++;
        }
    }
    expect(joined, 30, "joined");
    expect(total, 66, "total");
    expect(sum, 66, "sum");
    expect(counted, 5, "counted");
#pragma omp parallel num_threads(3)
    {
        int mine = 0;
#pragma omp single copyprivate(mine)
        mine = 7;
#pragma omp critical
        given += mine;
#pragma omp for ordered(2) schedule(static, 1)
        for (int i = 1; i < 4; i++)
            for (int j = 1; j < 4; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                table[i][j] = table[i - 1][j] + table[i][j - 1] + 1;
#pragma omp ordered depend(source)
            }
    }
    expect(given, 21, "given");
    expect(table[3][3], 19, "table");
    omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(2)
        nested[2 * i + omp_get_thread_num()]++;
    }
    expect(nested[0] + nested[1] + nested[2] + nested[3], 4, "nested");
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : detached) shared(detached)
        detached = 1;
#pragma omp task
        omp_fulfill_event(event);
#pragma omp task depend(in : detached)
        expect(detached, 1, "detached");
    }
    return 0;
}
