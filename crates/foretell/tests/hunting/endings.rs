//! Programs that do not end well while they are recorded.

use std::fs;
use std::time::{Duration, Instant};

use crate::{foretell, json};

/// The pointer is set by the thread, and used without waiting for it: many orders crash.
const EARLY: &str = "\
#include <pthread.h>
#include <stdlib.h>
static int *number;
static volatile int busy;
static void *make(void *none) { number = calloc(1, sizeof *number); return none; }
int main(void) {
    pthread_t maker;
    pthread_create(&maker, 0, make, 0);
    for (int i = 0; i < 12; i++) busy = i;
    *number = 1;
    pthread_join(maker, 0);
    return 0;
}
";

/// Crashes in any order.
const ALWAYS: &str = "#include <stdlib.h>\nint main(void) { abort(); }\n";

/// Waits for what never comes, and does nothing else.
const ENDLESS: &str = "static volatile int stop;\nint main(void) { while (!stop) {} return 0; }\n";

/// Nobody waits for the threads; one of them goes on for ever.
const LEFT_ALONE: &str = "\
#include <pthread.h>
static int count;
static volatile int ticks;
static void *add(void *none) { count++; return none; }
static void *tick(void *none) { for (;;) ticks = ticks + 1; return none; }
int main(void) {
    pthread_t left;
    pthread_create(&left, 0, tick, 0);
    pthread_create(&left, 0, add, 0);
    pthread_create(&left, 0, add, 0);
    return 7;
}
";

/// Two threads work for long under a lock. In some orders the second to start comes first at the end, which fails.
const LONG: &str = "\
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int shared[64];
static int first;
static void *work(void *number) {
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        for (int j = 0; j < 8; j++) shared[j] = shared[j] + 1;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    if (!first) first = (int)(long)number;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    FAIL
    return 0;
}
";

#[test]
fn a_recording_that_is_cut_is_not_called_nothing_found() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("long.c"), LONG.replace("FAIL", "")).unwrap();
    let hunt = |timeout, more: &[&str]| {
        let arguments = ["hunt", "long.c", "--max-events", "300k", "--timeout", timeout];
        foretell(directory.path(), &[&arguments[..], more].concat())
    };
    let hunted = hunt("4", &[]);
    let words = String::from_utf8_lossy(&hunted.stdout).into_owned();
    assert_eq!(hunted.status.code(), Some(3), "{hunted:?}");
    assert!(words.contains("Stopped: the recording ends after "), "{words}");
    assert!(!words.contains("nothing found"), "{words}");
    // A machine that does much else needs long for the first prediction already.
    let report = json(&hunt("20", &["--json"]));
    assert_eq!(report["stopped"]["by"], "events", "{report:#}");
    // Although each of its runs is too long to look for others that are like it, the time is used. How many runs that makes depends on how busy the
    // machine is.
    assert!(report["runs"].as_u64().unwrap() >= 3, "{report:#}");
}

#[test]
fn runs_that_are_too_long_to_compare_are_checked_for_failure() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("long.c"), LONG.replace("FAIL", "assert(first == 1);")).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "long.c", "--timeout", "10", "--json"]);
    let report = json(&hunted);
    assert_eq!(hunted.status.code(), Some(1), "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "failure"), "{findings:#?}");
}

#[test]
fn threads_that_nobody_waits_for_are_seen_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("alone.c"), LEFT_ALONE).unwrap();
    let started = Instant::now();
    for seed in ["0", "1", "2", "3"] {
        let hunted = foretell(directory.path(), &["hunt", "alone.c", "--seed", seed, "--json"]);
        let said = String::from_utf8_lossy(&hunted.stderr).into_owned();
        assert!(said.contains("the program exited with status 7"), "{said}");
        let findings = json(&hunted)["findings"].as_array().cloned().unwrap_or_default();
        let seen = |finding: &&serde_json::Value| finding["object"] == "count" && finding["kind"] == "race";
        let races: Vec<_> = findings.iter().filter(seen).collect();
        assert!(!races.is_empty(), "seed {seed}: {findings:?}");
        assert!(races.iter().all(|race| race["rung"] == "confirmed"), "seed {seed}: {races:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn after_a_crash_other_seeds_are_tried() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("early.c"), EARLY).unwrap();
    let crashing = (0..20).find(|seed: &u64| {
        let seed = seed.to_string();
        let hunted = foretell(directory.path(), &["hunt", "early.c", "--times", "0", "--seed", &seed]);
        let said = String::from_utf8_lossy(&hunted.stderr).into_owned();
        said.contains(&format!("failed with seed {seed} (SIGSEGV at 0x0); recording another run"))
            && said.contains("the program exited with status 0")
    });
    let seed = crashing.expect("some order crashes, and one of the next does not").to_string();
    let hunted = foretell(directory.path(), &["hunt", "early.c", "--seed", &seed, "--json"]);
    let findings = json(&hunted)["findings"].as_array().cloned().unwrap_or_default();
    let confirmed =
        |kind: &str| findings.iter().any(|finding| finding["rung"] == "confirmed" && finding["kind"] == kind);
    assert!(confirmed("failure") && confirmed("race"), "{findings:?}");
}

#[test]
fn a_program_that_always_crashes_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("always.c"), ALWAYS).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "always.c"]);
    let said = String::from_utf8_lossy(&hunted.stderr).into_owned();
    assert!(said.contains("the program was killed by signal 6 (abort)"), "{said}");
    let text = String::from_utf8_lossy(&hunted.stdout).into_owned();
    assert!(
        text.contains("failure: SIGABRT, confirmed") && text.contains("in every schedule tried"),
        "{text}"
    );
    assert_eq!(hunted.status.code(), Some(1), "{text}");
}

#[test]
fn an_endless_program_is_ended_in_time() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("endless.c"), ENDLESS).unwrap();
    let start = Instant::now();
    let hunted = foretell(directory.path(), &["hunt", "endless.c", "--timeout", "6", "--max-events", "1M"]);
    let said = String::from_utf8_lossy(&hunted.stderr).into_owned();
    assert!(said.contains("the program was stopped after 2 s"), "{said}");
    assert!(said.contains("recording stopped at the limit"), "{said}");
    // Without the limit loading takes many times as long as the run.
    assert!(start.elapsed() < Duration::from_secs(60), "{said}");
}
