//! What is one finding: one variable and one pair of functions, never two variables, however many accesses a line has.

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

fn hunted(name: &str, check: impl FnOnce(&std::path::Path, Vec<Value>)) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program(name), directory.path().join(name)).unwrap();
    let output = foretell(directory.path(), &["hunt", name, "--json", "--quiet", "--sarif", "found.sarif"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    check(directory.path(), json(&output)["findings"].as_array().unwrap().clone());
}

#[test]
fn a_lost_update_on_one_line_is_found_with_its_failure() {
    hunted("one_line.rs", |_, findings| {
        let of_kind = |kind: &str| findings.iter().find(|finding| finding["kind"] == kind);
        let lost = of_kind("atomicity").unwrap_or_else(|| panic!("{findings:#?}"));
        assert_eq!((&lost["harm"], &lost["pattern"]), (&"failure".into(), &"RWW".into()), "{lost:#}");
        assert_eq!(lost["shown"], true, "{lost:#}");
        let failure = of_kind("failure").unwrap_or_else(|| panic!("{findings:#?}"));
        assert!(failure["object"].as_str().unwrap().contains("left == right"), "{failure:#}");
    });
}

#[test]
fn variables_are_never_merged_and_lines_of_one_are_listed() {
    hunted("one_macro.c", |here, findings| {
        let races: Vec<&Value> = findings.iter().filter(|finding| finding["kind"] == "race").collect();
        let mut objects: Vec<&str> = races.iter().map(|race| race["object"].as_str().unwrap()).collect();
        objects.sort_unstable();
        assert_eq!(objects, ["dropped", "received", "sent"], "{races:#?}");
        let dropped = races.iter().find(|race| race["object"] == "dropped").unwrap();
        assert_eq!(dropped["functions"], serde_json::json!(["drop_one", "drop_one"]), "{dropped:#}");
        assert!(!dropped["more"].as_array().unwrap().is_empty(), "{dropped:#}");
        // Ids are dense, in the order of the report.
        let ids: Vec<&str> = races.iter().map(|race| race["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["race-1", "race-2", "race-3"]);
        for race in &races {
            let id = race["id"].as_str().unwrap();
            assert!(here.join(".foretell/latest").join(format!("{id}.sched")).is_file(), "{id}");
            let replayed = json(&foretell(here, &["replay", id, "--json"]));
            assert_eq!(replayed["confirmed"], 1, "{replayed:#}");
        }
        let predicted = json(&foretell(here, &["predict", ".foretell/latest/trace.ftr", "--json"]));
        let id_of = |findings: &Value, object: &str| {
            let mut races = findings.as_array().unwrap().iter().filter(|finding| finding["kind"] == "race");
            races.find(|finding| finding["object"] == object).map(|finding| finding["id"].clone())
        };
        for race in &races {
            let object = race["object"].as_str().unwrap();
            assert_eq!(id_of(&predicted["findings"], object), Some(race["id"].clone()), "{predicted:#}");
        }
        let sarif = std::fs::read_to_string(here.join("found.sarif")).unwrap();
        // Places that the pair itself has are not said again.
        let own = dropped["locations"].as_array().unwrap();
        let further =
            dropped["more"].as_array().unwrap().iter().flat_map(|more| more["locations"].as_array().unwrap());
        let has_further = further.clone().any(|location| !own.contains(location));
        assert_eq!(sarif.contains("dropped: the same cause shows here"), has_further, "{sarif}");
        let shown = foretell(here, &["show", dropped["id"].as_str().unwrap()]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.contains("The same cause shows at:"), "{text}");
    });
}
