/* Threads with connections of their own to one SQLite database, with a shared cache: sqlite_threads FILE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

enum { THREADS = 3, ROUNDS = 4 };

static const char *name;

static void run(sqlite3 *database, const char *statement)
{
    int status;
    do
        status = sqlite3_exec(database, statement, NULL, NULL, NULL);
    while ((status & 0xff) == SQLITE_BUSY || (status & 0xff) == SQLITE_LOCKED);
    if (status != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", statement, sqlite3_errmsg(database));
        exit(1);
    }
}

static void *work(void *argument)
{
    sqlite3 *database;
    if (sqlite3_open(name, &database) != SQLITE_OK)
        exit(1);
    for (int round = 0; round < ROUNDS; round++) {
        run(database, "insert into numbers values (1)");
        run(database, "select count(*) from numbers");
    }
    sqlite3_close(database);
    return argument;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    sqlite3 *database;
    name = count > 1 ? arguments[1] : "numbers.db";
    remove(name);
    sqlite3_enable_shared_cache(1);
    if (sqlite3_open(name, &database) != SQLITE_OK)
        return 1;
    run(database, "create table numbers (n)");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sqlite3_close(database);
    return 0;
}
