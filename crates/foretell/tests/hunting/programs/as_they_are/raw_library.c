// A library that is not instrumented: only its calls are seen.
#include <string.h>

void fill(char *bytes, int with, unsigned long length) {
    memset(bytes, with, length);
}
