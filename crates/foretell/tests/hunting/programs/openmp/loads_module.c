// Loads a module for itself alone, and calls it.
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *module = dlopen("./module.so", RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    ((void (*)(void))dlsym(module, "work"))();
    return 0;
}
