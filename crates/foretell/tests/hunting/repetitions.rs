//! Runs that can show something new come before repeated replays.

use std::fs;

use super::{foretell, json};

/// Three variables race, which does no harm. The reader fails if it takes the lock after the writer, which no replay of a race leads to.
const LATE: &str = "\
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;
int x, y, z;
static void *reads(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = data;
    pthread_mutex_unlock(&lock);
    assert(seen == 0);
    x = 1;
    y = 1;
    z = 1;
    return unused;
}
static void *writes(void *unused)
{
    x = 2;
    y = 2;
    z = 2;
    pthread_mutex_lock(&lock);
    data = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t reader, writer;
    pthread_create(&reader, 0, reads, 0);
    pthread_create(&writer, 0, writes, 0);
    pthread_join(reader, 0);
    pthread_join(writer, 0);
    return 0;
}
";

#[test]
fn the_first_failure_comes_before_repeated_replays() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("late.c"), LATE).unwrap();
    let found =
        json(&foretell(directory.path(), &["hunt", "late.c", "--json", "--quiet", "--timeout", "120"]));
    let findings = found["findings"].as_array().unwrap();
    let races = findings.iter().filter(|finding| finding["kind"] == "race").count();
    assert!(races >= 3, "{found:#}");
    assert_eq!(findings[0]["kind"], "failure", "{found:#}");
    // Each race takes two replays, one for each order; three times that many would be 18.
    let first = found["first_failure"]["run"].as_u64().unwrap();
    assert!(first < 16, "the first failure was in run {first}");
    // In the end everything was replayed as often as asked for, and it is known what harm it does.
    for finding in findings.iter().filter(|finding| finding["rung"] == "confirmed") {
        assert_eq!(
            (&finding["replay"]["times"], &finding["replay"]["confirmed"]),
            (&3.into(), &3.into()),
            "{finding:#}"
        );
        assert!(finding["harm"].is_string(), "{finding:#}");
    }
}

/// Two threads take two locks in opposite orders; without a switch between its two locks a thread gets both.
const CROSSED: &str = "\
#include <pthread.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static void *forwards(void *unused)
{
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}
static void *backwards(void *unused)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}
int main(void)
{
    pthread_t one, other;
    pthread_create(&one, 0, forwards, 0);
    pthread_create(&other, 0, backwards, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
";

#[test]
fn a_deadlock_that_a_replay_confirms_is_a_failure_of_that_run() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("crossed.c"), CROSSED).unwrap();
    let found =
        json(&foretell(directory.path(), &["hunt", "crossed.c", "--json", "--quiet", "--timeout", "120"]));
    assert_eq!(found["findings"][0]["kind"], "deadlock", "{found:#}");
    assert_eq!(found["findings"][0]["rung"], "confirmed", "{found:#}");
    // The recorded run is the first, and the deadlock is what is replayed first.
    let first = found["first_failure"]["run"].as_u64().unwrap();
    assert!(first <= 2, "the first failure was in run {first}: {found:#}");
}
