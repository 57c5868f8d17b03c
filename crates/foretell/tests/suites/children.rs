//! Tests that start processes.

use std::fs;

use super::{foretell, json, project};

/// Has a thread, and runs the counter.
const PARENT: &str = "\
#include <pthread.h>
#include <stdlib.h>
static void *nothing(void *none) { return none; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    return system(\"./counter\") != 0;
}
";

/// A process under a test is hunted in by itself, and with `--children follow` also as a part of the test that starts it.
#[test]
fn processes_of_a_test_are_recorded_with_it_if_asked_for() {
    let project = project("./parent\n");
    fs::write(project.path().join("parent.c"), PARENT).unwrap();
    let built = foretell(project.path(), &["cc", "-g", "-O1", "-pthread", "parent.c", "-o", "parent"]);
    assert!(built.status.success(), "{built:?}");
    let showing = |children: &[&str]| {
        let common = ["test", "--json", "--timeout", "30", "--hunt", "--show all --rounds 1"];
        let output = foretell(project.path(), &[&common, children, &["--", "./check.sh"]].concat());
        let report = json(&output);
        let findings = report["findings"].as_array().unwrap();
        let race = findings.iter().find(|finding| finding["kind"] == "race" && finding["object"] == "total");
        let tests = race.unwrap_or_else(|| panic!("{output:?}"))["tests"].as_array().unwrap();
        let mut tests: Vec<String> = tests.iter().map(|test| test.as_str().unwrap().to_owned()).collect();
        tests.sort();
        tests
    };
    assert_eq!(showing(&[]), ["counter"]);
    assert_eq!(showing(&["--children", "follow"]), ["counter", "parent"]);
}
