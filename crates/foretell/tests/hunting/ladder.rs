//! Bugs that are feasible only if reads may see other values: reported if a replay shows them, and not otherwise.

use crate::rust::program;
use crate::{foretell, json};

const HIDDEN: &str = "counted_under_lock.c";

#[test]
fn a_race_that_a_counter_hides_is_confirmed_every_time() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::copy(program(HIDDEN), here.join(HIDDEN)).unwrap();
    let hunted = foretell(here, &["hunt", HIDDEN, "--json", "--quiet"]);
    assert_eq!(hunted.status.code(), Some(1), "{hunted:?}");
    let report = json(&hunted);
    let [race] = &report["findings"].as_array().unwrap()[..] else { panic!("{report:#}") };
    let facts = [&race["id"], &race["kind"], &race["rung"], &race["object"]];
    assert_eq!(facts, ["race-1", "race", "confirmed", "done"], "{race:#}");
    let replayed =
        json(&foretell(here, &["replay", ".foretell/latest", "race-1", "--times", "20", "--json"]));
    assert_eq!(replayed["confirmed"], 20, "{replayed:#}");
    // Under the model that keeps every read, there is no such race.
    let predicted = foretell(here, &["predict", ".foretell/latest/trace.ftr", "--only", "race"]);
    assert_eq!(predicted.status.code(), Some(0), "{predicted:?}");
}
