/* Paper 2, figure 1: two threads that may have the file f open at the same time. t1 closes it only after giving the lock
 * back. The runs that usually happen do not show it; possibly(mark(t1, "f") > 0 && mark(t2, "f") > 0) does.
 *
 *   cc -pthread -I../../include p2-fig1.c
 */
#include <pthread.h>

#include "foretell.h"

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *t1(void *unused)
{
    pthread_mutex_lock(&l);   /* a1 */
    FORETELL_MARK("f", +1);   /* a2: openFile(f) */
    pthread_mutex_unlock(&l); /* a3 */
    FORETELL_MARK("f", -1);   /* a4: closeFile(f) */
    return unused;
}

static void *t2(void *unused)
{
    pthread_mutex_lock(&l);   /* b1 */
    FORETELL_MARK("f", +1);   /* b2: openFile(f) */
    FORETELL_MARK("f", -1);   /* b3: closeFile(f) */
    pthread_mutex_unlock(&l); /* b4 */
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, 0, t1, 0);
    pthread_create(&second, 0, t2, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
