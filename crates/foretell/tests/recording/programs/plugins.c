#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void (*plugin)(void);

static void *work(void *arg)
{
    plugin();
    return arg;
}

int main(void)
{
    pthread_t worker;
    void *library = dlopen("./plugin.so", RTLD_NOW);
    if (!library)
        return puts(dlerror()), 1;
    plugin = (void (*)(void))dlsym(library, "plugin");
    pthread_create(&worker, 0, work, 0);
    plugin();
    pthread_join(worker, 0);
    return 0;
}
