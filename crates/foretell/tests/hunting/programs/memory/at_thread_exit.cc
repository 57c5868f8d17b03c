// What a thread's key and its thread_local objects do when it ends counts as its own: before the join that waits for it, and
// unordered with everybody else.
#include <pthread.h>

static int by_key, by_object;
static pthread_key_t key;

struct Leaves {
    bool used = false;
    ~Leaves() { by_object++; }
};
static thread_local Leaves leaves;

static void destroys(void *) { by_key++; }

static void *works(void *)
{
    leaves.used = true;
    pthread_setspecific(key, &by_key);
    return nullptr;
}

int main()
{
    pthread_t thread;
    pthread_key_create(&key, destroys);
    pthread_create(&thread, nullptr, works, nullptr);
#ifdef FIXED
    pthread_join(thread, nullptr);
#endif
    int seen = by_key + by_object;
#ifndef FIXED
    pthread_join(thread, nullptr);
#endif
    return seen > 2;
}
