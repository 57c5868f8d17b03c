#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

char error[100], known_error[100], printed[50], calendar_text[32], line[8], copied[20], sorted_text[8] = "bca";
char catenated[40], source[8] = "source";
struct tm calendar;
struct timespec now;
int numbers[4] = {3, 1, 2, 0};
char *grown;
size_t grown_size;

static int compare(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static int compare_numbers(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x - y;
}

static void act(const char *text)
{
    FILE *stream = fmemopen((void *)text, strlen(text), "r");
    time_t then = 0;
    strtol("7", 0, 99); /* No such base: it looks at nothing. */
    strerror_r(-1, error, sizeof error);
    strerror_r(ERANGE, known_error, sizeof known_error);
    snprintf(printed, sizeof printed, "%d %s %.1f", 1, "two", 3.0);
    ctime_r(&then, calendar_text);
    gmtime_r(&then, &calendar);
    clock_gettime(CLOCK_MONOTONIC, &now);
    stpcpy(copied, source);
    strncat(catenated, "ab", 1);
    qsort(numbers, 4, sizeof numbers[0], compare_numbers);
    qsort(sorted_text, 3, 1, compare);
    fgets(line, sizeof line, stream);
    fclose(stream);
}

static void *run(void *arg)
{
    act(arg);
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, "one\n");
    act("two\n");
    pthread_join(thread, 0);
    FILE *stream = fmemopen("line\n", 5, "r");
    ssize_t length = getline(&grown, &grown_size, stream);
    fclose(stream);
    char many[100];
    sprintf(many, "%d %d %d %d %d %.1f %s %d", 1, 2, 3, 4, 5, 6.5, "seven", 8);
    printf("%s|%s|%zd %s", many, printed, length, grown);
    free(grown);
    return 0;
}
