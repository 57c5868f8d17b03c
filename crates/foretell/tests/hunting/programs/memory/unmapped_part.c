/* The last page of a mapping is unmapped while another thread may still write it. The first page is unmapped as well, which nobody uses: what is
   left of the mapping stays as it is. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static volatile char *pages;

static void *works(void *unused)
{
    pages[PAGE + 7] = 1;
    pages[2 * PAGE + 7] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    char *all = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages = all;
    munmap(all, PAGE);
    pthread_create(&thread, NULL, works, NULL);
    usleep(1000);
#ifdef FIXED
    pthread_join(thread, NULL);
    munmap(all + 2 * PAGE, PAGE);
#else
    munmap(all + 2 * PAGE, PAGE);
    pthread_join(thread, NULL);
#endif
    return pages[PAGE + 7] != 1;
}
