#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wchar.h>

int __printf_chk(int flag, const char *format, ...);
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...);

/* Each is written by the other thread while a function reads or writes it here. */
char shown[8] = "shown", after_floats[8] = "floats", after_long[8] = "long", in_list[8] = "list", checked[8] = "checked";
char limited[4] = {'a', 'b', 'c', 'd'}, beyond[4] = {'a', 'b', 'c', 'd'}, given[4] = {'a', 'b', 'c', 'd'};
char format[8] = "%d\n", into[16], into_checked[16], into_sized[16];
char *made;
int counted;
wchar_t wide_shown[8] = L"wide";

char spanned[8] = "aab", other_span[8] = "aab", broken[8] = "aab", found[8] = "aab", ended[8] = "aab", whole[8] = "aab";
char tokens[8] = "a,b", delimiters[4] = ",;", more_tokens[8] = "a,b", last_token[4] = "z";
wchar_t wide_measured[8] = L"wide", wide_copied[8], wide_added[8];
char random_bytes[8], transformed[8], sorted[4] = "cba";
char *volatile nothing;

static void *writes(void *arg)
{
    /* What is there already, in the order in which it is used: only the accesses matter. */
    shown[0] = 's', after_floats[0] = 'f', after_long[0] = 'l', limited[1] = 'b';
    beyond[2] = 'c'; /* behind what is printed */
    given[2] = 'c', format[0] = '%', counted = 4, wide_shown[0] = L'w', in_list[0] = 'l', checked[0] = 'c';
    into[0] = '1', into_checked[0] = '3', into_sized[0] = '5', made = 0;
    spanned[0] = 'a', other_span[0] = 'a', broken[0] = 'a', found[0] = 'a', ended[0] = 'a', whole[0] = 'a';
    tokens[0] = 'a', delimiters[0] = ',', more_tokens[0] = 'a', last_token[1] = 0;
    wide_measured[0] = L'w', wide_copied[0] = L'a', wide_added[0] = L'c';
    random_bytes[7] = 'r', transformed[0] = 'a', sorted[0] = 'a';
    return arg;
}

static void list(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    vprintf(first, rest);
    va_end(rest);
}

static int compare(const void *a, const void *b, void *sign)
{
    return (*(const char *)a - *(const char *)b) * *(int *)sign;
}

static void prints(void)
{
    printf("%d %s %s\n", 1, shown, "constant");
    printf("%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %s\n", 1., 2., 3., 4., 5., 6., 7., 8., 9., after_floats);
    printf("%d %d %d %d %d %.1Lf %s\n", 1, 2, 3, 4, 5, 6.5L, after_long);
    printf("%.2s %.2s %*d %.*s\n", limited, beyond, 3, 7, 3, given);
    printf(format, 5);
    printf("four%n\n", &counted);
    printf("%ls\n", wide_shown);
    printf("%s\n", nothing ? nothing : "-");
    list("%s %d\n", in_list, 2);
    __printf_chk(1, "%d %s\n", 3, checked);
    sprintf(into, "%d-%d", 1, 2);
    __sprintf_chk(into_checked, 1, sizeof into_checked, "%d-%d", 3, 4);
    __snprintf_chk(into_sized, 4, 1, sizeof into_sized, "%d-%d", 56, 78);
    if (asprintf(&made, "%d%s", 9, "made") < 0)
        abort();
}

static size_t searches(void)
{
    char *next, *volatile text = tokens;
    int sign = 1;
    size_t sum = strspn(spanned, "abc") + strcspn(other_span, "xb");
    sum += strpbrk(broken, "xb") - broken;
    sum += strcasestr(found, "AB") - found;
    sum += strchrnul(ended, 'x') - ended;
    sum += (char *)memmem(whole, 3, "b", 1) - whole;
    sum += strlen(strtok_r(text, delimiters, &next)) + strlen(strtok_r(NULL, delimiters, &next));
    sum += strlen(strtok(more_tokens, ",")) + strlen(strtok(NULL, ",")) + (strtok(NULL, ",") == NULL);
    /* The end of the text is read, and not written. */
    sum += strlen(strtok(last_token, ","));
    sum += wcslen(wide_measured);
    wcscpy(wide_copied, L"ab");
    wcscat(wide_added, L"cd");
    sum += getrandom(random_bytes, sizeof random_bytes, 0);
    sum += strxfrm(transformed, "a", sizeof transformed) > 0;
    qsort_r(sorted, 3, 1, compare, &sign);
    return sum;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, writes, 0);
    prints();
    printf("%zu\n", searches());
    pthread_join(thread, 0);
    return 0;
}
