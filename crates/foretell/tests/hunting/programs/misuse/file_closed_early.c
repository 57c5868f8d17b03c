#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int file;
static void *uses(void *unused) { char byte; if (read(file, &byte, 1) < 0) return unused; return unused; }
static void *closes(void *unused) { close(file); return unused; }
int main(void)
{
    pthread_t first, second;
    file = open("/dev/null", O_RDONLY);
    pthread_create(&first, NULL, uses, NULL);
    pthread_create(&second, NULL, closes, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
