/* A mail room. The clerk sleeps until the courier has brought the mail and rings the bell, which he does inside the room. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int mail;

static void *clerk(void *unused)
{
    pthread_mutex_lock(&room);
    while (mail == 0)
        pthread_cond_wait(&bell, &room);
    pthread_mutex_unlock(&room);
    return unused;
}

static void *courier(void *unused)
{
    usleep(20000); /* on the way */
    pthread_mutex_lock(&room);
    mail = 12;
    pthread_cond_signal(&bell);
    pthread_mutex_unlock(&room);
    return unused;
}

int main(void)
{
    pthread_t people[2];

    pthread_create(&people[0], NULL, clerk, NULL);
    pthread_create(&people[1], NULL, courier, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(people[i], NULL);

    printf("%d letters sorted\n", mail);
    return 0;
}
