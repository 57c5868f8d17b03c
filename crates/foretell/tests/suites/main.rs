//! `foretell test`: whole test commands.

mod build_systems;
mod cargo;
mod children;
mod ci;
mod resuming;
mod servers;
mod tutorial;
mod workflow;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn foretell(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(directory).args(arguments).env_remove("FORETELL_OPTIONS").output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A counter without a lock, in a function that two programs share.
const COUNTER: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static int with_lock;
static void *add(void *unused) {
    if (with_lock) pthread_mutex_lock(&lock);
    total = total + 1;
    if (with_lock) pthread_mutex_unlock(&lock);
    return unused;
}
int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], \"alone\")) { puts(\"no threads\"); return 0; }
    with_lock = count > 1 && !strcmp(words[1], \"locked\");
    if (getenv(\"COUNTER_LOCKED\")) with_lock = 1;
    pthread_t one, two;
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf(\"%d\\n\", total);
    return count > 1 && !strcmp(words[1], \"fails\");
}
";

/// A directory with the program and a script that runs it.
fn project(script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("counter.c"), COUNTER).unwrap();
    let built = foretell(directory.path(), &["cc", "-g", "-O1", "-pthread", "counter.c", "-o", "counter"]);
    assert!(built.status.success(), "{built:?}");
    let check = directory.path().join("check.sh");
    fs::write(&check, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&check, fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// Name, outcome, and whether there are findings.
fn tests(report: &Value) -> Vec<(String, String, bool)> {
    let tests = report["tests"].as_array().unwrap();
    let row = |test: &Value| {
        let text = |key: &str| test[key].as_str().unwrap().to_owned();
        (text("name"), text("outcome"), !test["findings"].as_array().unwrap().is_empty())
    };
    tests.iter().map(row).collect()
}

fn row(name: &str, outcome: &str, findings: bool) -> (String, String, bool) {
    (name.to_owned(), outcome.to_owned(), findings)
}

#[test]
fn every_test_is_hunted_in_and_the_same_bug_is_reported_once() {
    let script = "\
./counter alone || exit 9
./counter again
mkdir -p sub && (cd sub && ../counter)
COUNTER_LOCKED=1 ./counter from-environment
./counter locked
./counter locked
";
    let project = project(script);
    let output = foretell(project.path(), &["test", "--json", "--timeout", "60", "--", "./check.sh"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = json(&output);
    let expected = [
        row("counter alone", "no-threads", false),
        row("counter again", "hunted", true),
        row("counter", "hunted", true),
        row("counter from-environment", "hunted", false),
        row("counter locked", "hunted", false),
    ];
    assert_eq!(tests(&report), expected);
    let findings = report["findings"].as_array().unwrap();
    let statuses: Vec<&Value> =
        report["tests"].as_array().unwrap().iter().map(|test| &test["status"]).collect();
    assert_eq!(statuses, ["not-recorded", "passed", "passed", "passed", "passed"]);
    let races: Vec<&Value> = findings.iter().filter(|finding| finding["kind"] == "race").collect();
    let [race] = races[..] else { panic!("{findings:#?}") };
    assert_eq!((&race["object"], &race["rung"]), (&"total".into(), &"confirmed".into()));
    assert_eq!(race["more"], Value::Null, "its places are the same, whatever directory a test runs in");
    assert_eq!(race["tests"], serde_json::json!(["counter again", "counter"]));

    // The report works without searching again, and a finding can be replayed by the id that it has there.
    let again = foretell(project.path(), &["report", "--junit", "junit.xml", "--html", "page.html"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let words = String::from_utf8_lossy(&again.stdout);
    assert!(words.contains("Shown by 2 tests: counter again, counter."), "{words}");
    assert!(words.contains("5 tests, 4 hunted in, 1 without threads"), "{words}");
    assert!(
        words.contains(&format!("foretell replay .foretell/latest {}", race["id"].as_str().unwrap())),
        "{words}"
    );
    let junit = fs::read_to_string(project.path().join("junit.xml")).unwrap();
    assert!(junit.contains(r#"tests="5""#) && junit.contains(r#"failures="2""#), "{junit}");
    let id = race["id"].as_str().unwrap();
    let replayed = foretell(project.path(), &["replay", ".foretell/latest", id]);
    assert_eq!(replayed.status.code(), Some(1), "{replayed:?}");
}

#[test]
fn a_suite_without_threads_says_that_it_has_none() {
    let project = project("./counter alone\n");
    let output = foretell(project.path(), &["test", "--timeout", "10", "--", "./check.sh"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("none of them creates a thread") && said.contains("has a filter"), "{said}");
}

/// A library with a race, for programs that are not built for recording.
const LIBRARY: &str = "\
#include <pthread.h>
static int hits;
static void *work(void *none) { hits = hits + 1; return none; }
int go(void) {
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return hits;
}
";

/// Loads it when it is asked to, as Python loads its extension modules.
const LOADER: &str = "\
#include <dlfcn.h>
int main(void) {
    int (*go)(void) = (int (*)(void))dlsym(dlopen(\"./library.so\", RTLD_NOW), \"go\");
    return go() < 1;
}
";

#[test]
fn programs_that_load_instrumented_libraries_are_hunted_in() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    fs::write(place.join("library.c"), LIBRARY).unwrap();
    fs::write(place.join("loader.c"), LOADER).unwrap();
    let built = foretell(
        place,
        &["cc", "-g", "-O1", "-fPIC", "-shared", "-pthread", "library.c", "-o", "library.so"],
    );
    assert!(built.status.success(), "{built:?}");
    let plain =
        std::process::Command::new("cc").args(["loader.c", "-o", "loader"]).current_dir(place).status();
    assert!(plain.unwrap().success());
    let output = foretell(place, &["test", "--json", "--quiet", "--timeout", "30", "--", "./loader"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = json(&output);
    assert_eq!(tests(&report), [row("loader", "hunted", true)]);
    let race = &report["findings"][0];
    assert_eq!(
        (&race["kind"], &race["rung"], &race["object"]),
        (&"race".into(), &"confirmed".into(), &"hits".into())
    );
}

/// Takes the options of a program with Catch 2.13: it lists its cases with their number as its status, and runs those that have the names of
/// all its arguments together.
const CATCH: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static int hits, fine;
static void *hit(void *none) { hits = hits + 1; return none; }
static void *set(void *none) { fine = 1; return none; }
static void run(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    if (second) pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    if (second) pthread_join(two, 0);
}
int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : \"\";
    if (!strcmp(words[count - 1], \"--list-test-names-only\")) {
        if (count == 2 || *word == '[') { puts(\"racy, [twice]\\nfine\"); return 2; }
        puts(*word == 'r' ? \"racy, [twice]\" : \"fine\");
        return 1;
    }
    if (count > 2) return 0;
    if (*word == '[') word = \"\";
    if (!*word || !strcmp(word, \"racy\\\\, \\\\[twice]\")) run(hit, hit);
    if (!*word || !strcmp(word, \"fine\")) run(set, 0);
    return 0;
}
";

#[test]
fn cases_of_a_program_with_catch_are_hunted_in_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cases.c"), CATCH).unwrap();
    let built = foretell(directory.path(), &["cc", "-g", "-O1", "-pthread", "cases.c", "-o", "cases"]);
    assert!(built.status.success(), "{built:?}");
    let hunt = |arguments: &[&str]| {
        let common = ["test", "--split", "--json", "--quiet", "--timeout", "30", "--", "./cases"];
        let output = foretell(directory.path(), &[&common, arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        tests(&json(&output))
    };
    let expected = [row("cases racy, [twice]", "hunted", true), row("cases fine", "hunted", false)];
    assert_eq!(hunt(&[]), expected);
    // A filter goes: with it, no case would be selected.
    let expected =
        [row("cases [all] racy, [twice]", "hunted", true), row("cases [all] fine", "hunted", false)];
    assert_eq!(hunt(&["[all]"]), expected);
    // One case is no more than what the program runs anyway, and is called so.
    assert_eq!(hunt(&["racy\\, \\[twice]"]), [row("cases racy\\, \\[twice]", "hunted", true)]);
}

#[test]
fn what_cannot_be_hunted_in_is_said() {
    let project = project("echo hello\n");
    let none = foretell(project.path(), &["test", "--", "./check.sh"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    let words = String::from_utf8_lossy(&none.stderr);
    assert!(words.contains("started no instrumented program"), "{words}");
    let missing = foretell(project.path(), &["test", "--", "./no-such-command"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    let nothing = foretell(project.path(), &["test", "--resume", "--results", "elsewhere"]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
}

#[test]
fn a_test_command_that_fails_is_no_clean_suite() {
    let project = project("./counter locked\nexit 5\n");
    let output = foretell(project.path(), &["test", "--timeout", "20", "--", "./check.sh"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("ended with status 5"), "{output:?}");
}

#[test]
fn shards_together_are_the_whole() {
    let project = project("./counter a\n./counter b\n./counter locked\n./counter alone\n");
    let mut hunted = 0;
    for part in ["1/2", "2/2"] {
        let results = format!("results-{}", &part[..1]);
        let arguments =
            ["test", "--json", "--timeout", "30", "--shard", part, "--results", &results, "--", "./check.sh"];
        let output = foretell(project.path(), &arguments);
        hunted += match output.status.code() {
            // Nothing of this part was left to hunt in.
            Some(2) => 0,
            _ => tests(&json(&output)).iter().filter(|(_, outcome, _)| outcome == "hunted").count(),
        };
    }
    assert_eq!(hunted, 3);
    let merged = foretell(project.path(), &["merge", "--json", "results-1/latest", "results-2/latest"]);
    assert_eq!(merged.status.code(), Some(1), "{merged:?}");
    let report = json(&merged);
    let expected = [
        row("counter a", "hunted", true),
        row("counter b", "hunted", true),
        row("counter locked", "hunted", false),
        row("counter alone", "no-threads", false),
    ];
    assert_eq!(tests(&report), expected);
    let refused = foretell(project.path(), &["merge", "."]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn each_seed_is_a_recording_of_its_own_and_the_report_is_one() {
    let project = project("./counter\n./counter locked\n./counter alone\n");
    let arguments = ["test", "--json", "--seeds", "3", "--timeout", "60", "--", "./check.sh"];
    let report = json(&foretell(project.path(), &arguments));
    let expected = [
        row("counter", "hunted", true),
        row("counter locked", "hunted", false),
        row("counter alone", "no-threads", false),
    ];
    assert_eq!(tests(&report), expected);
    let races = report["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "race");
    assert_eq!(races.count(), 1);
    for seed in ["seed-0", "seed-1", "seed-2"] {
        let findings =
            project.path().join(".foretell/latest/tests/001-counter").join(seed).join("latest/findings.json");
        assert!(findings.is_file(), "{}", findings.display());
    }
    // Only the recorded runs were searched.
    let of_seed = project.path().join(".foretell/latest/tests/001-counter/seed-2/latest/findings.json");
    let of_seed: Value = serde_json::from_slice(&fs::read(of_seed).unwrap()).unwrap();
    assert_eq!(of_seed["ended"], "recorded-run-only", "{of_seed:#}");
    // A shard has some of the seeds, and all shards together have all.
    let hunted = |part: &str| {
        let arguments =
            ["test", "--json", "--seeds", "4", "--shard", part, "--results", "shards", "--", "./counter"];
        foretell(project.path(), &arguments);
        let plan = fs::read(project.path().join("shards/latest/suite.json")).unwrap();
        let plan: Value = serde_json::from_slice(&plan).unwrap();
        let of = |test: &Value| (test["outcome"] == "hunted").then(|| test["seed"].as_u64().unwrap());
        plan["tests"].as_array().unwrap().iter().filter_map(of).collect::<Vec<u64>>()
    };
    let (one, two) = (hunted("1/2"), hunted("2/2"));
    assert_eq!((one.len(), two.len()), (2, 2));
    let mut all = [one, two].concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3]);
}

/// Two threads that always have one lock each before they ask for the other.
const DEADLOCK: &str = "\
#include <pthread.h>
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t both;
static void *take(void *own) {
    int first = own != 0;
    pthread_mutex_lock(&locks[first]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&locks[!first]);
    return 0;
}
int main(void) {
    pthread_t one, two;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&one, 0, take, 0);
    pthread_create(&two, 0, take, &two);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";

/// A test that hangs by itself keeps the others from nothing, and its deadlock is found.
#[test]
fn a_test_that_hangs_is_ended_and_hunted_in() {
    let directory = project("./hangs\n./counter\nexit 0\n");
    fs::write(directory.path().join("hangs.c"), DEADLOCK).unwrap();
    let built = foretell(directory.path(), &["cc", "-g", "-O1", "-pthread", "hangs.c", "-o", "hangs"]);
    assert!(built.status.success(), "{built:?}");
    let output = foretell(directory.path(), &["test", "--json", "--timeout", "20", "--", "./check.sh"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("hangs` hung and was ended"), "{said}");
    let report = json(&output);
    assert_eq!(tests(&report), [row("hangs", "hunted", true), row("counter", "hunted", true)]);
    let kinds: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|found| found["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"deadlock"), "{kinds:?}");
}
