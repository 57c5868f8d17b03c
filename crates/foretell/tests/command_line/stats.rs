//! What `foretell stats` says of small traces whose figures can be checked by counting.

use std::path::Path;

use crate::support::{RICH, Workplace, example};

#[test]
fn of_the_example() {
    let place = Workplace::new();
    insta::assert_snapshot!(place.write("account.std", example()).run(&["stats", "account.std"]).seen());
}

#[test]
fn of_a_trace_with_everything() {
    let place = Workplace::new();
    insta::assert_snapshot!(place.write("server.std", RICH).run(&["stats", "server.std"]).seen());
}

#[test]
fn of_a_trace_with_everything_as_json() {
    let place = Workplace::new();
    let ran = place.write("server.std", RICH).run(&["stats", "server.std", "--json"]).succeeded();
    assert_eq!(ran.json()["schema"], 1);
    assert_eq!(ran.text().lines().count(), 1, "one object on one line");
    insta::assert_snapshot!(serde_json::to_string_pretty(&ran.json()).unwrap());
}

#[test]
fn the_top_bounds_every_list() {
    let place = Workplace::new();
    place.write("server.std", RICH);
    insta::assert_snapshot!(place.run(&["stats", "server.std", "--top", "1"]).seen());
    let none = place.run(&["stats", "server.std", "--top", "0"]).succeeded().text();
    assert!(none.contains("Threads (0 of 2)"), "{none}");
}

#[test]
fn the_form_and_the_pipe_change_nothing_but_the_file() {
    let place = Workplace::new();
    place.write("t.std", RICH);
    let mut expected = place.run(&["stats", "--json", "t.std"]).succeeded().json();
    expected["file"].take();
    for name in ["t.ftr", "t.std.gz", "t.std.zst", "t"] {
        place.run(&["convert", "-q", "t.std", name]).succeeded();
        let named = place.run(&["stats", "--json", name]).succeeded();
        let piped = place.run_with_input(&["stats", "--json", "-"], &place.read(name)).succeeded();
        // The content decides how it is read, not the name.
        place.write("misnamed.ftr", place.read(name));
        let misnamed = place.run(&["stats", "--json", "misnamed.ftr"]).succeeded();
        for ran in [named, piped, misnamed] {
            assert_eq!(ran.stderr, "", "{name}");
            let mut json = ran.json();
            json["file"].take();
            assert_eq!(json, expected, "{name}");
        }
    }
}

#[test]
fn a_native_trace_in_gzip_is_read_all_the_same() {
    let place = Workplace::new();
    place.write("t.std", RICH).run(&["convert", "t.std", "t.ftr"]).succeeded();
    let status = std::process::Command::new("gzip").arg("-k").arg(place.path("t.ftr")).status();
    if status.is_ok_and(|status| status.success()) {
        let json = place.run(&["stats", "--json", "t.ftr.gz"]).succeeded().json();
        assert_eq!(json["file"]["form"], "native");
        assert_eq!(json["file"]["compression"], "gzip");
        assert_eq!(json["file"]["complete"], true);
    }
}

#[test]
fn the_parts_add_up() {
    let place = Workplace::new();
    place.run(&["generate", "-q", "--events", "20k", "--threads", "5", "-o", "t.ftr"]).succeeded();
    let json = place.run(&["stats", "--json", "--top", "100k", "t.ftr"]);
    assert_eq!(json.code, Some(2), "--top takes a plain number");
    let json = place.run(&["stats", "--json", "--top", "100000", "t.ftr"]).succeeded().json();
    let sum = |list: &serde_json::Value, field: &str| -> u64 {
        let rows = list.as_array().expect("a list");
        rows.iter().map(|row| row[field].as_u64().expect("a number")).sum()
    };
    let numbers = |list: &serde_json::Value| -> u64 {
        list.as_array().expect("a list").iter().map(|n| n.as_u64().expect("a number")).sum()
    };
    let kinds =
        |names: &[&str]| -> u64 { names.iter().filter_map(|name| json["kinds"][name].as_u64()).sum() };
    let accesses = kinds(&["read", "write", "atomic_read", "atomic_write", "atomic_update"]);
    let reads = kinds(&["read", "atomic_read", "atomic_update"]);
    let all: u64 = json["kinds"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(all, 20_000);
    assert_eq!(sum(&json["threads"], "events"), 20_000);
    assert_eq!(sum(&json["hottest_variables"], "accesses"), accesses);
    assert_eq!(sum(&json["hottest_variables"], "reads"), reads);
    assert_eq!(numbers(&json["nesting"]["accesses"]), accesses);
    let sharing: u64 = ["local", "read_only", "written"]
        .iter()
        .map(|c| json["sharing"][c]["accesses"].as_u64().unwrap())
        .sum();
    assert_eq!(sharing, accesses);
    let seen: u64 = json["reads_from"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(seen, reads);
    let acquires = kinds(&["acquire", "acquire_shared"]);
    assert_eq!(sum(&json["hottest_locks"], "acquires") + sum(&json["hottest_locks"], "recursive"), acquires);
    assert_eq!(numbers(&json["nesting"]["acquires"]), sum(&json["hottest_locks"], "acquires"));
}

/// What programs rely on is written down.
#[test]
fn every_field_is_in_the_contract() {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let contract = std::fs::read_to_string(contract).unwrap();
    let words: Vec<&str> = contract.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let place = Workplace::new();
    let json = place.write("t.std", RICH).run(&["stats", "--json", "t.std"]).succeeded().json();
    let mut unknown = vec![&json];
    while let Some(value) = unknown.pop() {
        if let Some(fields) = value.as_object() {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "quantum") {
                assert!(words.contains(&name.as_str()), "docs/json.md does not mention {name}");
                unknown.push(value);
            }
        }
        unknown.extend(value.as_array().into_iter().flatten());
    }
    for &kind in trace::Kind::ALL {
        assert!(words.contains(&kind.name()), "docs/json.md does not mention {kind:?}");
    }
}
