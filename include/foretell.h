/* What a program can tell Foretell about itself. C99 and C++11; costs a test of a pointer where the tool is not.
 *
 *   FORETELL_MARK("open", +1);        a counter or a value, for conditions such as mark(t, "open") > 0
 *   FORETELL_ATOMIC_BEGIN("transfer");
 *   ..                                what another thread must not come between
 *   FORETELL_ATOMIC_END("transfer");
 *
 * The hooks are weak symbols: without Foretell's library they are null and nothing is called. With FORETELL_OFF defined,
 * or on a compiler that knows no weak symbols, the macros are nothing at all, and their arguments are not evaluated.
 * Names are string literals.
 */
#ifndef FORETELL_H
#define FORETELL_H

#if !defined(FORETELL_OFF) && (defined(__GNUC__) || defined(__clang__)) && defined(__ELF__)

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) void foretell_mark(const char *name, long long value);
__attribute__((weak)) void foretell_atomic_begin(const char *name);
__attribute__((weak)) void foretell_atomic_end(const char *name);

#ifdef __cplusplus
}
#endif

#define FORETELL_MARK(name, value)                    \
    do {                                              \
        if (foretell_mark)                            \
            foretell_mark("" name, (value));          \
    } while (0)
#define FORETELL_ATOMIC_BEGIN(name)                   \
    do {                                              \
        if (foretell_atomic_begin)                    \
            foretell_atomic_begin("" name);           \
    } while (0)
#define FORETELL_ATOMIC_END(name)                     \
    do {                                              \
        if (foretell_atomic_end)                      \
            foretell_atomic_end("" name);             \
    } while (0)

#else

#define FORETELL_MARK(name, value) ((void)0)
#define FORETELL_ATOMIC_BEGIN(name) ((void)0)
#define FORETELL_ATOMIC_END(name) ((void)0)

#endif

#endif
