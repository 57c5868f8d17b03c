/* Two fibers of one thread. The program says whether a switch between them orders them: with a scheduler that may run them on other
   threads it does not. */
#define _GNU_SOURCE
#include <stddef.h>
#include <ucontext.h>

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

#ifdef FIXED
enum { FLAGS = 0 };
#else
enum { FLAGS = 1 }; /* no order */
#endif

static ucontext_t own, other;
static void *own_fiber, *other_fiber;
static char stack[1 << 16] __attribute__((aligned(16)));
static int prepared, shared;

static void runs(void)
{
    shared += prepared;
    __tsan_switch_to_fiber(own_fiber, FLAGS);
    swapcontext(&other, &own);
}

int main(void)
{
    own_fiber = __tsan_get_current_fiber();
    prepared = 1; /* before the fiber was created */
    other_fiber = __tsan_create_fiber(0);
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = NULL;
    makecontext(&other, runs, 0);
    shared = 2;
    __tsan_switch_to_fiber(other_fiber, FLAGS);
    swapcontext(&own, &other);
    __tsan_destroy_fiber(other_fiber);
    return 0;
}
