/* Correct: main joins the C11 thread before it reads the result. */
#include <assert.h>
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static cnd_t posted;
static int task, result;

static int work(void *unused)
{
    (void)unused;
    mtx_lock(&lock);
    while (task == 0)
        cnd_wait(&posted, &lock);
    mtx_unlock(&lock);
    result = task * task;
    return 0;
}

int main(void)
{
    thrd_t worker;
    int status;

    mtx_init(&lock, mtx_plain);
    cnd_init(&posted);
    thrd_create(&worker, work, NULL);
    mtx_lock(&lock);
    task = 6;
    cnd_signal(&posted);
    mtx_unlock(&lock);
    thrd_join(worker, &status);
    assert(result == 36);
    printf("result %d, status %d\n", result, status);
    return 0;
}
