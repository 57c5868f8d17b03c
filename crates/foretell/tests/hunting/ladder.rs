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
    let shown = report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true);
    let [race] = shown.collect::<Vec<_>>()[..] else { panic!("{report:#}") };
    let facts = [&race["id"], &race["kind"], &race["rung"], &race["object"]];
    assert_eq!(facts, ["race-1", "race", "confirmed", "done"], "{race:#}");
    let replayed =
        json(&foretell(here, &["replay", ".foretell/latest", "race-1", "--times", "20", "--json"]));
    assert_eq!(replayed["confirmed"], 20, "{replayed:#}");
    // Under the model that keeps every read, there is no such race.
    let predicted = foretell(here, &["predict", ".foretell/latest/trace.ftr", "--only", "race"]);
    assert_eq!(predicted.status.code(), Some(0), "{predicted:?}");
}

/// Weaker models come later: what is feasible under a stronger one is found first, though it comes last in the recording.
#[test]
fn the_ladder_is_climbed_from_the_strongest_model_to_the_weakest() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::copy(program("three_rungs.c"), here.join("three_rungs.c")).unwrap();
    let built = foretell(here, &["cc", "-g", "-O1", "-pthread", "three_rungs.c", "-o", "three"]);
    assert!(built.status.success(), "{built:?}");
    // One seed in two lets the first thread go ahead.
    let recorded = (0..8).find_map(|seed: u32| {
        let seed = seed.to_string();
        let hunted = json(&foretell(
            here,
            &[
                "hunt", "--rounds", "1", "--seed", &seed, "--json", "--quiet", "--only", "race", "--",
                "./three",
            ],
        ));
        let predicted = json(&foretell(
            here,
            &["predict", ".foretell/latest/trace.ftr", "--model", "sync", "--only", "race", "--json"],
        ));
        (rung_of(&predicted, "plain") == "predicted" && rung_of(&predicted, "possible") != "predicted")
            .then_some((hunted, predicted))
    });
    let (hunted, predicted) = recorded.expect("the first thread goes ahead");
    assert_eq!(rung_of(&predicted, "likely"), "likely", "{predicted:#}");
    assert_eq!(rung_of(&predicted, "possible"), "possible", "{predicted:#}");
    // Findings are numbered as they are found.
    let mut found: Vec<(&str, &str, &str)> = hunted["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| ["id", "object", "rung"].map(|field| finding[field].as_str().unwrap()).into())
        .collect();
    found.sort_unstable();
    let expected = [
        ("race-1", "plain", "confirmed"),
        ("race-2", "likely", "confirmed"),
        ("race-3", "possible", "confirmed"),
    ];
    assert_eq!(found, expected, "{hunted:#}");
}

fn rung_of(report: &serde_json::Value, object: &str) -> String {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["object"] == object);
    found.map_or(String::new(), |finding| finding["rung"].as_str().unwrap_or_default().to_owned())
}
