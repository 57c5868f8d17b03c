//! Programs that do what few do: hunts end with what is true.

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

fn hunt(name: &str) -> (Option<i32>, Value) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program(&format!("as_they_are/{name}")), directory.path().join(name)).unwrap();
    let hunted = foretell(directory.path(), &["hunt", name, "--json", "--quiet", "--timeout", "10"]);
    (hunted.status.code(), json(&hunted))
}

fn shown(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true).collect()
}

/// Joining the first thread orders what it did before what comes next, as joining any other does.
#[test]
fn the_first_thread_can_be_joined() {
    let (status, report) = hunt("join_main.c");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{report:#}");
}

/// Nothing says where a timer's thread comes from, so a replay cannot arrange what it does. The race is predicted all the same, and the
/// hunt goes on.
#[test]
fn races_with_a_timers_thread_are_predicted() {
    let (status, report) = hunt("timer.c");
    let races = shown(&report);
    assert_eq!((status, races.len()), (Some(1), 1), "{report:#}");
    assert_eq!(
        (&races[0]["object"], &races[0]["rung"]),
        (&"shared".into(), &"predicted".into()),
        "{report:#}"
    );
}
