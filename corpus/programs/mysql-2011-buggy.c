/* Reconstruction, named for the row mysql2011 of paper 1's table 1. The report was not at hand: this has the row's threads, accesses and
 * numbers of races, and one lock where it has two. Two threads of a slave, set up before they start and cleared after they have ended, share three of
 * their variables without a lock. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t relay_lock = PTHREAD_MUTEX_INITIALIZER;
static int host;
static int port;
static int user;
static int password;
static int retries;
static int interval;
static int timeout_s;
static int event_pos;
static int log_pos;
static int abort_slave;

static void set_up(void)
{
    host = 1; /* set host */
    port = 2; /* set port */
    user = 3; /* set user */
    password = 4; /* set password */
    retries = 5; /* set retries */
    interval = 6; /* set interval */
    timeout_s = 7; /* set timeout_s */
    event_pos = 4; /* set event_pos */
}

static void clear(void)
{
    host = 0; /* clear host */
    port = 0; /* clear port */
    user = 0; /* clear user */
    password = 0; /* clear password */
    retries = 0; /* clear retries */
    interval = 0; /* clear interval */
    timeout_s = 0; /* clear timeout_s */
}

static int settings_of_reader(void)
{
    int sum = 0;

    sum += host; /* reader host */
    sum += port; /* reader port */
    sum += user; /* reader user */
    sum += password; /* reader password */
    sum += retries; /* reader retries */
    sum += interval; /* reader interval */
    sum += timeout_s; /* reader timeout_s */
    return sum;
}

static int settings_of_applier(void)
{
    int sum = 0;

    sum += host; /* applier host */
    sum += port; /* applier port */
    sum += user; /* applier user */
    sum += password; /* applier password */
    sum += retries; /* applier retries */
    sum += interval; /* applier interval */
    sum += timeout_s; /* applier timeout_s */
    return sum;
}

static void *reader(void *unused)
{
    int sum = settings_of_reader();

    (void)unused;
    event_pos = sum; /* move event_pos */
    pthread_mutex_lock(&relay_lock); /* read */
    sum += log_pos; /* look at log_pos */
    log_pos = sum; /* advance log_pos */
    pthread_mutex_unlock(&relay_lock); /* have read */
    sum = abort_slave; /* stop? abort_slave */
    if (sum)
        puts("the slave stops");
    return NULL;
}

static void *applier(void *unused)
{
    int position = settings_of_applier();

    (void)unused;
    position -= event_pos; /* apply event_pos */
    position += log_pos; /* apply log_pos */
    abort_slave = position > 0; /* stop abort_slave */
    pthread_mutex_lock(&relay_lock); /* rotate */
    log_pos = position; /* rotate log_pos */
    pthread_mutex_unlock(&relay_lock); /* rotated */
    return NULL;
}

int main(void)
{
    pthread_t one, two;

    set_up();
    pthread_create(&one, NULL, reader, NULL);
    pthread_create(&two, NULL, applier, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    clear();
    return 0;
}
