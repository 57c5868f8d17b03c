// Allocation, ranges, marks, and accesses of every size.
#include <stdlib.h>
#include <string.h>
#include "foretell.h"
struct big { char bytes[100]; };
struct big one, two;
volatile char c; volatile short s; volatile int i; volatile long l;
__attribute__((noinline)) void work(char *block) {
    memset(block, 1, 50);
    memcpy(block + 50, block, 40);
    memmove(block + 1, block, 20);
    one = two;
    c = c + 1; s = s + 1; i = i + 1; l = l + 1;
}
int main(void) {
    char *block = malloc(100);
    block = realloc(block, 20000);
    void *aligned;
    if (posix_memalign(&aligned, 64, 10)) return 1;
    FORETELL_ATOMIC_BEGIN("work");
    work(block);
    FORETELL_ATOMIC_END("work");
    FORETELL_MARK("open", -3);
    free(aligned);
    free(block);
    free(calloc(3, 7));
    return 0;
}
