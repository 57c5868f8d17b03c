// A lock of the program's own, as it announces it to race detectors.
#include <pthread.h>

void AnnotateRWLockAcquired(const char *file, int line, void *lock, long is_writer);
void AnnotateRWLockReleased(const char *file, int line, void *lock, long is_writer);

static int lock;

int main(void)
{
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    return 0;
}
