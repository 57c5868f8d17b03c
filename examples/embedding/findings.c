/* Reads what `foretell predict --json` or `foretell hunt --json` prints, and prints one line for each finding:
 *
 *     cc -o findings findings.c
 *     foretell predict run.ftr --json | ./findings
 *
 * There is a small JSON reader in it and nothing else: take it as a start, or use the library you know. docs/json.md
 * describes the fields; fields that are not known are skipped, since later versions may have more. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *at; /* The next character. */

static void fail(const char *why) {
    fprintf(stderr, "not what foretell prints: %s near \"%.20s\"\n", why, at);
    exit(2);
}

static int next_is(char wanted) {
    while (isspace((unsigned char)*at)) at++;
    return *at == wanted;
}

static void expect(char wanted) {
    if (!next_is(wanted)) fail("something else was expected");
    at++;
}

/* Reads a string. It is cut at the size of `text`; escapes other than \" and \\ stay as they are. */
static void read_string(char *text, size_t size) {
    size_t length = 0;
    for (expect('"'); *at && *at != '"'; at++) {
        if (*at == '\\' && (at[1] == '"' || at[1] == '\\')) at++;
        if (length + 1 < size) text[length++] = *at;
    }
    if (size) text[length] = 0;
    expect('"');
}

/* Skips a value of any kind, however deep it is nested. */
static void skip_value(void) {
    int depth = 0;
    do {
        if (next_is('"')) {
            read_string(NULL, 0);
        } else if (*at == '{' || *at == '[') {
            depth++, at++;
        } else if (*at == '}' || *at == ']') {
            depth--, at++;
        } else if (*at == ',' || *at == ':') {
            at++;
        } else if (*at) {
            while (*at && !strchr(",:{}[]\" \t\r\n", *at)) at++;
        } else {
            fail("it ends in the middle");
        }
    } while (depth > 0);
}

/* Whether a list or an object goes on after an element. */
static int has_more(char end) {
    if (next_is(',')) return at++, 1;
    expect(end);
    return 0;
}

static void print_finding(void) {
    char id[64] = "", kind[64] = "", rung[64] = "", object[256] = "", places[1024] = "";
    expect('{');
    do {
        char key[64];
        read_string(key, sizeof key);
        expect(':');
        if (!strcmp(key, "id")) read_string(id, sizeof id);
        else if (!strcmp(key, "kind")) read_string(kind, sizeof kind);
        else if (!strcmp(key, "rung")) read_string(rung, sizeof rung);
        else if (!strcmp(key, "object")) read_string(object, sizeof object);
        else if (!strcmp(key, "locations")) {
            expect('[');
            do {
                char place[256] = "?";
                if (next_is('"')) read_string(place, sizeof place);
                else skip_value(); /* null: the location is not known */
                if (*places) strncat(places, " and ", sizeof places - strlen(places) - 1);
                strncat(places, place, sizeof places - strlen(places) - 1);
            } while (has_more(']'));
        } else skip_value();
    } while (has_more('}'));
    printf("%s: %s on %s at %s (%s)\n", id, kind, object, places, rung);
}

int main(void) {
    char *text = NULL;
    size_t size = 0, got;
    do {
        text = realloc(text, size + 65537);
        if (!text) return perror("memory"), 2;
        got = fread(text + size, 1, 65536, stdin);
        size += got;
    } while (got);
    text[size] = 0;
    at = text;
    expect('{');
    do {
        char key[64];
        read_string(key, sizeof key);
        expect(':');
        if (!strcmp(key, "findings") && next_is('[') && at[1] != ']') {
            at++;
            do print_finding();
            while (has_more(']'));
        } else skip_value();
    } while (has_more('}'));
    free(text);
    return 0;
}
