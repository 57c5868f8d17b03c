// Loads a plug-in, which is this very file compiled as a library, and runs a function of it in two threads.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
int shared;
void *plugin_run(void *argument) { for (int i = 0; i < 100; i++) shared++; return 0; }
int main(int count, char **arguments) {
    void *library = dlopen("./libplugin.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return puts(dlerror()), 1;
    void *(*run)(void *) = (void *(*)(void *))dlsym(library, "plugin_run");
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    dlclose(library);
    return 0;
}
