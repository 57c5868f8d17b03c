/* Memory goes back to the system while another thread still uses it. */
#include <pthread.h>
#include <sys/mman.h>

static int *page;

static void *uses(void *unused)
{
    page[7] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, uses, NULL);
#ifdef FIXED
    pthread_join(thread, NULL);
    munmap(page, 4096);
#else
    munmap(page, 4096);
    pthread_join(thread, NULL);
#endif
    return 0;
}
