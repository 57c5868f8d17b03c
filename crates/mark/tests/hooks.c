/* Hooks as the tool's library has them, which print what they are told. */
#include <stdio.h>

void foretell_mark(const char *name, long long value) { printf("mark %s %lld\n", name, value); fflush(stdout); }
void foretell_atomic_begin(const char *name) { printf("begin %s\n", name); fflush(stdout); }
void foretell_atomic_end(const char *name) { printf("end %s\n", name); fflush(stdout); }
