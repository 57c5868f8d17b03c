/* A fiber begins on one thread and ends on another: what it did comes first, wherever that was. */
#define _GNU_SOURCE
#include <pthread.h>
#include <ucontext.h>

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

static ucontext_t callers[2], moving;
static void *caller_fibers[2], *moving_fiber;
static char stack[1 << 16] __attribute__((aligned(16)));
static int turn, steps, counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void leaves(int number)
{
    __tsan_switch_to_fiber(caller_fibers[number], 0);
    swapcontext(&moving, &callers[number]);
}

static void runs(void)
{
    steps = 1;
    leaves(0);
    steps++;
    leaves(1);
}

static void carries(int number)
{
    caller_fibers[number] = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(moving_fiber, 0);
    swapcontext(&callers[number], &moving);
#ifndef FIXED
    counted++;
#endif
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!turn)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    carries(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    moving_fiber = __tsan_create_fiber(0);
    getcontext(&moving);
    moving.uc_stack.ss_sp = stack;
    moving.uc_stack.ss_size = sizeof stack;
    moving.uc_link = NULL;
    makecontext(&moving, runs, 0);
    pthread_create(&thread, NULL, second, NULL);
    carries(0);
    pthread_mutex_lock(&lock);
    turn = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    counted++;
#endif
    pthread_join(thread, NULL);
    return steps != 2;
}
