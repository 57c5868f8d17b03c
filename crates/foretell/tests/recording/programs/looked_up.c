#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <math.h>
#include <mntent.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

/* Each is written by the other thread while a function reads or writes it here. */
double sine, cosine, whole_part;
float sine_f, cosine_f, whole_part_f;
long double sine_l, cosine_l, whole_part_l;
int exponent, exponent_f, exponent_l, quotient, quotient_f, quotient_l, sign, sign_f, sign_l;
wchar_t wide[8], wide_moved[8], wide_transformed[8];
char narrow[8], narrow_moved[8], one_character[8], converted[8], to_convert[8] = "abc", to_widen[8] = "abc";
struct tm parsed;
char date[16] = "2024-02-03";
struct passwd user, *found_user;
struct group group, *found_group;
char user_texts[1024], group_texts[4096];
struct hostent host, *found_host;
char host_texts[1024];
int why;
struct addrinfo hints, *addresses;
struct mntent mount;
char mount_texts[256];
char numeric_host[64], numeric_port[16];
struct in_addr parsed_address;
struct sockaddr_in own_name;
socklen_t own_length = sizeof own_name;
int option;
socklen_t option_length = sizeof option;
glob_t paths;
wordexp_t words;
struct dirent **entries;
regex_t expression;
regmatch_t places[2];
char matched[8] = "abc";
char attribute[8], other_process[8], library_version[64];
pthread_attr_t attributes;
size_t stack_size;

/* What is looked at in memory of the C library. */
char first_name;

static void *writes(void *arg)
{
    /* What is read comes first, in the order in which it is read: who reads it comes after this, and so is ordered with what came before. */
    to_widen[0] = 'a', to_convert[0] = 'a', date[0] = '2', hints.ai_family = AF_UNSPEC, matched[0] = 'a';
    sine = cosine = whole_part = 0, sine_f = cosine_f = whole_part_f = 0, sine_l = cosine_l = whole_part_l = 0;
    exponent = exponent_f = exponent_l = quotient = quotient_f = quotient_l = sign = sign_f = sign_l = 0;
    wide[0] = wide_moved[0] = wide_transformed[0] = 0;
    narrow[0] = narrow_moved[0] = one_character[0] = converted[0] = 0;
    parsed.tm_year = 0;
    user.pw_uid = 0, found_user = 0, user_texts[0] = 0, group.gr_gid = 0, found_group = 0;
    host.h_length = 0, found_host = 0, addresses = 0;
    mount.mnt_freq = 0, numeric_host[0] = 0, numeric_port[0] = 0, parsed_address.s_addr = 0;
    own_name.sin_port = 0, option = 0;
    paths.gl_pathc = 0, words.we_wordc = 0, entries = 0, places[0].rm_so = 0;
    other_process[0] = 0, library_version[0] = 0, stack_size = 0;
    return arg;
}

static void *asks(void *arg)
{
    volatile double number = 8.5;
    volatile long double long_number = 8.5L;
    sincos(number, &sine, &cosine), sincosf(number, &sine_f, &cosine_f), sincosl(long_number, &sine_l, &cosine_l);
    volatile double results = frexp(number, &exponent) + frexpf(number, &exponent_f) + modf(number, &whole_part);
    results += modff(number, &whole_part_f) + remquo(number, 3, &quotient) + remquof(number, 3, &quotient_f);
    results += lgamma_r(number, &sign) + lgammaf_r(number, &sign_f);
    volatile long double long_results = frexpl(long_number, &exponent_l) + modfl(long_number, &whole_part_l);
    long_results += remquol(long_number, 3, &quotient_l) + lgammal_r(long_number, &sign_l);

    const char *text = to_widen;
    const wchar_t *wide_text = L"abc";
    mbstate_t state = {0};
    size_t lengths = mbstowcs(wide, "abc", 8) + wcstombs(narrow, L"abc", 8);
    lengths += mbsrtowcs(wide_moved, &text, 8, &state) + wcsrtombs(narrow_moved, &wide_text, 8, &state);
    lengths += wcsxfrm(wide_transformed, L"abc", 8) + wctomb(one_character, L'x');
    iconv_t conversion = iconv_open("UTF-8", "ISO-8859-1");
    char *from = to_convert, *to = converted;
    size_t left = 3, room = sizeof converted;
    iconv(conversion, &from, &left, &to, &room);
    iconv_close(conversion);

    int parsed_all = *strptime(date, "%Y-%m-%d", &parsed) == 0;
    getpwuid_r(0, &user, user_texts, sizeof user_texts, &found_user);
    getgrgid_r(0, &group, group_texts, sizeof group_texts, &found_group);
    gethostbyname_r("127.0.0.1", &host, host_texts, sizeof host_texts, &found_host, &why);
    hints.ai_flags = AI_NUMERICHOST;
    int unknown = getaddrinfo("127.0.0.1", 0, &hints, &addresses);
    FILE *mounts = fmemopen("none /mnt tmpfs rw 0 0\n", 23, "r");
    getmntent_r(mounts, &mount, mount_texts, sizeof mount_texts);
    fclose(mounts);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    getnameinfo((void *)&local, sizeof local, numeric_host, sizeof numeric_host, numeric_port, sizeof numeric_port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    inet_pton(AF_INET, "127.0.0.1", &parsed_address);
    int socket_file = socket(AF_INET, SOCK_STREAM, 0);
    getsockname(socket_file, (void *)&own_name, &own_length);
    getsockopt(socket_file, SOL_SOCKET, SO_TYPE, &option, &option_length);
    close(socket_file);

    glob("/de[v]", 0, 0, &paths);
    wordexp("one two", &words, WRDE_NOCMD);
    int count = scandir("/proc/self/task", &entries, 0, 0);
    regcomp(&expression, "b(c)", REG_EXTENDED);
    int differs = regexec(&expression, matched, 2, places, 0);
    struct iovec here = {other_process, 4}, there = {"abc", 4};
    ssize_t copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    confstr(_CS_GNU_LIBC_VERSION, library_version, sizeof library_version);
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &stack_size);

    printf("%.1f %.1Lf %zu %d %s %s %d %s %s\n", (double)results, (long double)long_results, lengths, parsed_all,
           user.pw_name, converted, unknown, numeric_host, mount.mnt_dir);
    printf("%zu %zu %d %d %ld %d\n", paths.gl_pathc, words.we_wordc, count > 2, differs, (long)places[1].rm_so, copied == 4);
    printf("%.3f %.3f %.3f %.3f %.3Lf %.3Lf\n", sine, cosine, sine_f, cosine_f, sine_l, cosine_l);
    regfree(&expression), globfree(&paths), wordfree(&words), freeaddrinfo(addresses);
    return arg;
}

/* Memory of the C library that both overwrite. */
static void *looks_up(void *arg)
{
    first_name = *getpwuid(0)->pw_name;
    return arg;
}

static void *lists(void *directory)
{
    struct dirent *entry = readdir(directory);
    return entry && entry->d_name[0] ? directory : 0;
}

static void both(void *(*first)(void *), void *(*second)(void *), void *arg)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, arg);
    pthread_create(&threads[1], 0, second, arg);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}

int main(void)
{
    both(writes, asks, 0);
    both(looks_up, looks_up, 0);
    return 0;
}
