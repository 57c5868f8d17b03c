//! All behaviours of small programs: the hunt runs each, says so, and counts them right. The numbers are those that the enumeration of all
//! interleavings gives (crates/behaviours/tests/enumeration/classics.rs).

use std::fs;
use std::path::Path;

use super::{foretell, json};

/// A program of corpus/pairs, and how many behaviours it has.
const CLASSICS: [(&str, u64); 9] = [
    ("bakery.c", 66),
    ("dekker.c", 20),
    ("fib_bench.c", 141),
    ("indexer.c", 4),
    ("lamport_fast.c", 26),
    ("mutex_counter.c", 3),
    ("peterson.c", 23),
    ("szymanski.c", 546),
    ("ticket_lock.c", 6),
];

fn corpus(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pairs").join(file)).unwrap()
}

fn hunt(file: &str, source: &str) -> serde_json::Value {
    hunt_for(file, source, "180")
}

fn hunt_for(file: &str, source: &str, seconds: &str) -> serde_json::Value {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(file), source).unwrap();
    json(&foretell(directory.path(), &["hunt", file, "--json", "--quiet", "--timeout", seconds]))
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
        assert_eq!((&found["targets"], &found["ended"]), (&0.into(), &"nothing-left".into()), "{file}");
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

/// What it does depends on the time and on random numbers, which the schedule does not decide.
const FICKLE: &str = "\
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *draws(void *unused)
{
    pthread_mutex_lock(&lock);
    count += rand() % 2;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, draws, 0);
    pthread_mutex_lock(&lock);
    count += time(0) % 2 ? 1 : 2;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn what_depends_on_more_than_the_schedule_is_not_claimed_to_be_exhausted() {
    let found = hunt("fickle.c", FICKLE);
    assert_eq!((&found["exhausted"], &found["targets"]), (&false.into(), &0.into()), "{found:#}");
    let doubts = found["doubts"].to_string();
    assert!(doubts.contains("the time") && doubts.contains("random numbers"), "{doubts}");
}

/// Two threads look at each other's counter in turn: far more behaviours than there is time for.
const ENDLESS: &str = "\
#include <pthread.h>
#include <stdatomic.h>
static atomic_int counts[2];
static void *counts_up(void *own)
{
    for (int i = 0; i < 40; i++)
        atomic_store((atomic_int *)own, atomic_load(&counts[0]) + atomic_load(&counts[1]));
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, counts_up, &counts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn a_hunt_without_findings_says_that_its_time_was_used() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("endless.c"), ENDLESS).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "endless.c", "--timeout", "5"]);
    let said = String::from_utf8_lossy(&hunted.stderr);
    let covered = said.lines().find(|line| line.starts_with("covered: ")).expect("what was covered");
    assert!(covered.contains("targets left; the time of 5 s was used"), "{covered}");
    let saved = fs::read_to_string(directory.path().join(".foretell/latest/findings.json")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&saved["ended"], &saved["exhausted"]), (&"time".into(), &false.into()));
    assert!(saved["runs"].as_u64() > Some(20) && saved["targets"].as_u64() > Some(0), "{saved:#}");
}

/// The first to print allocates the buffer while it holds the lock of the stream, which is not recorded: no thread may be stopped there.
const PRINTING: &str = "\
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *prints(void *unused)
{
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    printf(\"half done\\n\");
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, prints, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return count != 4;
}
";

#[test]
fn threads_that_print_are_not_stopped_with_the_lock_of_the_stream() {
    let found = hunt("printing.c", PRINTING);
    assert_eq!((&found["behaviours"], &found["exhausted"]), (&6.into(), &true.into()), "{found:#}");
}

/// Sleeps longer than the hunt may take.
const SLEEPY: &str = "\
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *sleeps(void *unused)
{
    sleep(400);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, sleeps, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return count != 2;
}
";

#[test]
fn sleeps_take_no_time() {
    let found = hunt_for("sleepy.c", SLEEPY, "20");
    assert_eq!((&found["behaviours"], &found["exhausted"]), (&2.into(), &true.into()), "{found:#}");
}

const NEVER_ENDING: &str = "\
#include <pthread.h>
#include <stdatomic.h>
static atomic_int stop, count;
static void *counts(void *unused) { while (!atomic_load(&stop)) count++; return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, counts, 0);
    for (;;)
        count++;
}
";

#[test]
fn a_program_that_never_ends_is_cut_off_and_searched() {
    let found = hunt_for("never_ending.c", NEVER_ENDING, "15");
    assert_eq!((&found["ended"], &found["exhausted"]), (&"time".into(), &false.into()), "{found:#}");
    assert!(found["runs"].as_u64() >= Some(1) && found["trace"]["events"].as_u64() > Some(1000), "{found:#}");
}
