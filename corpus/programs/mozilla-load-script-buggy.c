/* Reconstruction, modelled on the Mozilla bug that paper 1 calls LoadScript (it gives no more than the name; the code is ours): a script is remembered
 * when its loading starts and compiled when it has ended, in two sections; another thread forgets it in between. An
 * atomicity violation without a race. */
#include <pthread.h>
#include <stdio.h>

struct script {
    int length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct script script;
static struct script *gCurrentScript;

static void OnLoadComplete(void)
{
    pthread_mutex_lock(&lock);
    if (gCurrentScript == NULL)
        puts("the script is gone");
    else
        printf("%d bytes compiled\n", gCurrentScript->length);
    pthread_mutex_unlock(&lock);
}

static void *LoadScript(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    gCurrentScript = &script;
    pthread_mutex_unlock(&lock);
    OnLoadComplete();
    return NULL;
}

static void *Forget(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    gCurrentScript = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t loader, forgetter;

    script.length = 42;
    pthread_create(&loader, NULL, LoadScript, NULL);
    pthread_create(&forgetter, NULL, Forget, NULL);
    pthread_join(loader, NULL);
    pthread_join(forgetter, NULL);
    return 0;
}
