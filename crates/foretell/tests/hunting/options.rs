//! Options of `hunt` that `record` has as well, and hunts on several machines.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{foretell, json};

/// Two threads that count without a lock; with an argument, in a process of their own.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static int total, other;
static void *add(void *unused) { total = total + 1; return unused; }
static void *add_other(void *unused) { other = other + 1; return unused; }
static int count(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, add, 0);
    pthread_create(&two, 0, add, 0);
    add_other(0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
int main(int words, char **unused)
{
    (void)unused;
    if (words < 2)
        return count();
    pthread_t thread;
    pthread_create(&thread, 0, add_other, 0);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(count());
    waitpid(child, 0, 0);
    return 0;
}
"#;

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("count.c"), PROGRAM).unwrap();
    let built = foretell(directory.path(), &["cc", "-g", "-O1", "-pthread", "count.c", "-o", "count"]);
    assert!(built.status.success(), "{built:?}");
    directory
}

fn hunt(directory: &Path, options: &[&str], arguments: &[&str]) -> Value {
    let common = ["hunt", "--json", "--quiet", "--timeout", "20"];
    let command = [&common, options, &["--", "./count"], arguments].concat();
    json(&foretell(directory, &command))
}

fn settings(directory: &Path, trace: &str) -> Value {
    json(&foretell(directory, &["stats", "--json", trace]))["metadata"]["settings"].clone()
}

fn races(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "race");
    findings.map(|finding| (finding["object"].as_str().unwrap(), finding["rung"].as_str().unwrap())).collect()
}

#[test]
fn runs_and_policies_are_as_asked_for() {
    let project = project();
    let report = hunt(project.path(), &["--runs", "3", "--policy", "round-robin", "--seed", "5"], &[]);
    assert_eq!(races(&report), [("total", "confirmed")]);
    for (trace, seed) in [("trace.ftr", "5"), ("run-2.ftr", "6"), ("run-3.ftr", "7")] {
        let settings = settings(project.path(), &format!(".foretell/latest/{trace}"));
        assert_eq!(
            (&settings["seed"], &settings["policy"]),
            (&seed.into(), &"round-robin".into()),
            "{trace}"
        );
    }
}

#[test]
fn variables_are_left_out_as_asked_for() {
    let project = project();
    assert_eq!(races(&hunt(project.path(), &["--exclude", "add"], &[])), []);
    assert_eq!(races(&hunt(project.path(), &["--include", "add"], &[])), [("total", "confirmed")]);
}

#[test]
fn children_are_searched_if_they_are_followed() {
    let project = project();
    assert_eq!(races(&hunt(project.path(), &[], &["in-a-child"])), []);
    let report = hunt(project.path(), &["--children", "follow"], &["in-a-child"]);
    assert_eq!(races(&report), [("total", "predicted")]);
    let race =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == "race").unwrap();
    assert_eq!(race["recording"], "child-1.ftr");
    let said = |options: &[&str]| {
        let command = [&["hunt", "--timeout", "20"], options, &["--", "./count", "in-a-child"]].concat();
        String::from_utf8(foretell(project.path(), &command).stderr).unwrap()
    };
    assert!(said(&[]).contains("`--children follow` records each"));
    assert!(said(&["--children", "follow"]).contains("not the processes that it starts"));
}

#[test]
fn hunts_of_several_machines_are_joined() {
    let project = project();
    for (shard, seed) in [("1/2", "3"), ("2/2", "4")] {
        let results = format!("shard-{}", &shard[..1]);
        hunt(project.path(), &["--shard", shard, "--seed", "3", "--results", &results], &[]);
        assert_eq!(settings(project.path(), &format!("{results}/latest/trace.ftr"))["seed"], seed);
    }
    let merged = foretell(project.path(), &["merge", "--json", "shard-1/latest", "shard-2/latest"]);
    assert_eq!(merged.status.code(), Some(1), "{merged:?}");
    let report = json(&merged);
    assert_eq!(races(&report), [("total", "confirmed")]);
    let race =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == "race").unwrap();
    assert_eq!(race["tests"], serde_json::json!(["count", "count (2)"]));
}

#[test]
fn what_a_program_wants_of_threadsanitizer_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let file = crate::rust::program("brings_suppressions.c");
    let path = file.to_str().unwrap();
    let only = ["--only", "race,misuse", "--results", "results", "--timeout", "5"];
    let hunted = foretell(directory.path(), &[&["hunt", path, "--json", "--quiet"], &only[..]].concat());
    let report = json(&hunted);
    assert_eq!((hunted.status.code(), &report["findings"]), (Some(0), &serde_json::json!([])), "{report:#}");
    assert!(report["suppressed"].as_u64().unwrap() >= 2, "the race and the leaked thread: {report:#}");
    let output = std::fs::read_to_string(directory.path().join("results/latest/output.txt"));
    let output = output.unwrap_or_default();
    assert!(output.contains("initialised\n") && output.contains("finalized\n"), "{output:?}");
}

/// Limits are written as everywhere, and hold for all of a hunt and a replay.
#[test]
fn limits_of_hunts_and_replays() {
    let project = project();
    let here = project.path();
    let hunt = |limits: &[&str]| {
        foretell(here, &[&["hunt", "--json", "--quiet"], limits, &["--", "./count"]].concat())
    };
    let short = hunt(&["--timeout", "0.1m", "--only", "race"]);
    assert_eq!(short.status.code(), Some(1), "{short:?}");
    let replay = |limits: &[&str]| {
        foretell(here, &[&["replay", "race-1", "--json", "--times", "1000000"], limits].concat())
    };
    let timed = replay(&["--timeout", "1.5s"]);
    assert_eq!(timed.status.code(), Some(1), "{timed:?}");
    assert!(json(&timed)["times"].as_u64().unwrap() < 1_000_000);
    // Whatever the program is at when the time is over: starting, for example.
    for hundredths in 5..25 {
        let timed = replay(&["--timeout", &format!("0.{hundredths:02}s")]);
        assert_ne!(timed.status.code(), Some(2), "{timed:?}");
    }
    let full = replay(&["--memory", "4k"]);
    assert_eq!(full.status.code(), Some(3), "{full:?}");
    let full = hunt(&["--memory", "4k"]);
    assert_eq!(full.status.code(), Some(3), "{full:?}");
    assert_eq!(json(&full)["stopped"]["by"], "memory");
    for mistake in [["--timeout", "0"], ["--timeout", "soon"], ["--memory", "much"]] {
        assert_eq!(hunt(&mistake).status.code(), Some(2), "{mistake:?}");
        assert_eq!(replay(&mistake).status.code(), Some(2), "{mistake:?}");
    }
}

/// Other behaviours are tried for as long as there is time. That it is used up is no answer that is missing.
#[test]
fn a_hunt_that_uses_its_time_and_finds_nothing_has_found_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let program = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int count;\n\
                   static void *add(void *unused) { for (int i = 0; i < 300; i++) count++; return unused; }\n\
                   int main(void) { pthread_t one, two; pthread_create(&one, 0, add, 0);\n\
                   pthread_create(&two, 0, add, 0); pthread_join(one, 0); pthread_join(two, 0); return 0; }\n";
    fs::write(directory.path().join("count.c"), program).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "count.c", "--json", "--timeout", "4"]);
    let report = json(&hunted);
    assert_eq!((hunted.status.code(), &report["exhausted"]), (Some(0), &false.into()), "{report:#}");
    let said = String::from_utf8_lossy(&hunted.stderr);
    assert!(report["stopped"].is_null(), "{said}");
}
