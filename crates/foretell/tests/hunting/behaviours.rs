//! All behaviours of small programs: the hunt runs each, says so, and counts them right. The numbers are those that the enumeration of all
//! interleavings gives (crates/behaviours/tests/enumeration/classics.rs).

use std::fs;
use std::path::Path;

use super::{foretell, json};

/// A program of corpus/pairs, and how many behaviours it has.
const CLASSICS: [(&str, u64); 8] = [
    ("bakery.c", 66),
    ("dekker.c", 20),
    ("fib_bench.c", 141),
    ("indexer.c", 4),
    ("lamport_fast.c", 26),
    ("mutex_counter.c", 3),
    ("peterson.c", 23),
    ("ticket_lock.c", 6),
];

fn corpus(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pairs").join(file)).unwrap()
}

fn hunt(file: &str, source: &str) -> serde_json::Value {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(file), source).unwrap();
    json(&foretell(directory.path(), &["hunt", file, "--json", "--quiet", "--timeout", "60"]))
}

#[test]
fn every_behaviour_of_the_classics_is_run() {
    for (file, behaviours) in CLASSICS {
        let found = hunt(file, &corpus(file));
        assert_eq!(
            (&found["behaviours"], &found["exhausted"]),
            (&behaviours.into(), &true.into()),
            "{file}: {found:#}"
        );
        assert_eq!(found["targets"], 0, "{file}");
        assert!(found["runs"].as_u64().unwrap() >= behaviours, "{file}");
    }
}

/// One thread increments a counter under a lock, the other 20 times: which of them goes when is all there is.
const COUNTER: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void increment(void) { pthread_mutex_lock(&lock); count++; pthread_mutex_unlock(&lock); }
static void *once(void *unused) { increment(); return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, once, 0);
    for (int i = 0; i < 20; i++)
        increment();
    pthread_join(thread, 0);
    return count != 21;
}
";

#[test]
fn a_new_thread_goes_first_last_and_at_every_point_between() {
    let found = hunt("counter.c", COUNTER);
    assert_eq!((&found["behaviours"], &found["exhausted"]), (&21.into(), &true.into()), "{found:#}");
}

/// The second thread fails only if it comes after the first, which the recorded run does not do.
const LATE: &str = "\
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;
static void *writes(void *unused) { pthread_mutex_lock(&lock); data = 1; pthread_mutex_unlock(&lock); return unused; }
static void *reads(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = data;
    pthread_mutex_unlock(&lock);
    assert(seen == 0);
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
fn a_failure_that_takes_another_order_is_found() {
    let found = hunt("late.c", LATE);
    let finding = &found["findings"][0];
    assert_eq!((&finding["kind"], &finding["rung"]), (&"failure".into(), &"confirmed".into()), "{found:#}");
    assert_eq!(found["exhausted"], false, "{found:#}");
}

/// A wait with a time limit may end either way at any time: nothing is claimed.
const TIMED: &str = "\
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static void *signals(void *unused) { pthread_cond_signal(&ready); return unused; }
int main(void)
{
    pthread_t thread;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec = (end.tv_nsec + 1000000) % 1000000000;
    pthread_create(&thread, 0, signals, 0);
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&ready, &lock, &end);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn what_time_decides_is_not_claimed_to_be_exhausted() {
    let found = hunt("timed.c", TIMED);
    assert_eq!(found["exhausted"], false, "{found:#}");
    assert!(found["doubts"].to_string().contains("time limit"), "{found:#}");
}
