// What programs rarely use: loops far ahead of others, regions of one thread, cancellation, teams, tasks that run at once, nested locks, private copies:
// all in order.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int ahead[12][8], alone, late, ordered, skipped, twice, teams[4], at_once, last, parts, ended, copies, pairs[4];
static int own;
#pragma omp threadprivate(own)

static void expect(int seen, int wanted, const char *what)
{
    if (seen != wanted) {
        fprintf(stderr, "%s: %d, not %d\n", what, seen, wanted);
        abort();
    }
}

static void loops(void)
{
#pragma omp parallel num_threads(3)
    {
        for (int round = 0; round < 12; round++) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 8; i++)
                ahead[round][i]++;
        }
#pragma omp barrier
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < 6; i++) {
            if (i % 2) {
#pragma omp ordered
                ordered = ordered * 2 + i;
            } else {
#pragma omp atomic
                skipped++;
            }
        }
    }
    expect(ahead[11][7], 1, "ahead");
    expect(ordered, 15, "ordered");
    expect(skipped, 3, "skipped");
}

static void regions(int many)
{
#pragma omp parallel if (many) num_threads(2)
    {
#pragma omp single
        {
#pragma omp task
            late = 1;
#pragma omp task if (0)
            alone = 1;
        }
#pragma omp barrier
        expect(late + alone, 2, "alone");
    }
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        twice++;
        omp_unset_nest_lock(&lock);
        twice++;
        omp_unset_nest_lock(&lock);
    }
    omp_destroy_nest_lock(&lock);
    expect(twice, 4, "twice");
    own = 5;
#pragma omp parallel num_threads(2) copyin(own)
    {
#pragma omp atomic
        copies += own;
    }
    expect(copies, 10, "copies");
}

static void tasks(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task depend(inout : at_once) untied
            at_once++;
        }
#pragma omp task depend(inout : at_once) if (0)
        at_once = at_once * 2;
        expect(at_once, 6, "at once");
#pragma omp task final(1) mergeable
        {
#pragma omp task
            parts++;
            expect(omp_in_final(), 1, "final");
        }
#pragma omp taskwait
        expect(parts, 1, "parts");
#pragma omp taskloop grainsize(3) lastprivate(last)
        for (int i = 0; i < 10; i++)
            last = i;
        expect(last, 9, "last");
#pragma omp taskloop nogroup
        for (int i = 0; i < 4; i++)
            pairs[i] = i;
    }
    expect(pairs[3], 3, "pairs");
#pragma omp parallel num_threads(3) reduction(task, + : sum)
    {
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+ : sum)
            sum += i;
        }
    }
    expect(sum, 6, "sum");
}

// Adds up n ones, in tasks whose memory is that of tasks which have ended.
static int add_up(int n)
{
    int left = 0, right = 0, both = 0;
    if (n < 2)
        return n;
#pragma omp task shared(left) firstprivate(n) depend(out : left)
    left = add_up(n / 2);
#pragma omp task shared(right) firstprivate(n) depend(out : right)
    right = n % 2 ? n / 2 + 1 + add_up(0) : add_up(n / 2);
#pragma omp task shared(left, right, both) depend(in : left, right)
    both = left + right;
#pragma omp taskwait
    return both;
}

static void recursion(void)
{
    int total = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    total = add_up(16);
    expect(total, 16, "total");
}

static void cancelled(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp for
        for (int i = 0; i < 30; i++) {
#pragma omp cancel for if (i == 10)
#pragma omp cancellation point for
        }
#pragma omp single
#pragma omp taskgroup
        {
            for (int i = 0; i < 4; i++) {
#pragma omp task
                {
#pragma omp atomic
                    ended++;
#pragma omp cancel taskgroup
                }
            }
        }
#pragma omp cancel parallel
    }
    if (ended < 1 || ended > 4)
        abort();
}

static void league(void)
{
#pragma omp teams num_teams(2)
    {
#pragma omp parallel num_threads(2)
        teams[omp_get_team_num() * 2 + omp_get_thread_num()]++;
    }
    expect(teams[0], 1, "teams");
}

int main(int argc, char **argv)
{
    loops();
    regions(argc > 5);
    tasks();
    recursion();
    cancelled();
    league();
    puts("done");
    return argv == 0;
}
