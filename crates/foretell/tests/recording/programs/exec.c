#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int first_image, after_failure, second_image;

static void *work(void *arg)
{
    first_image++;
    return arg;
}

static void *again(void *arg)
{
    second_image++;
    return arg;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count > 1) {
        pthread_create(&thread, 0, again, 0);
        second_image++;
        pthread_join(thread, 0);
        printf("%s %s %s %s %s %s %s\n", arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
               arguments[6], arguments[7]);
        return 5;
    }
    pthread_create(&thread, 0, work, 0);
    first_image++;
    pthread_join(thread, 0);
    if (execl("/does/not/exist", "none", (char *)0) == 0)
        return 1;
    pthread_create(&thread, 0, work, 0);
    after_failure++;
    pthread_join(thread, 0);
    execl(arguments[0], arguments[0], "a", "b", "c", "d", "e", "f", "g", (char *)0);
    return 2;
}
