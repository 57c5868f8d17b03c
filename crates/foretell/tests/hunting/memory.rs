//! Memory and files, as ThreadSanitizer knows them: each program has a bug, and with `-DFIXED` it has none.

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

/// What one finding about a program must be.
struct Bug {
    name: &'static str,
    kinds: &'static [&'static str],
    object: &'static str,
}

const fn bug(name: &'static str, kinds: &'static [&'static str], object: &'static str) -> Bug {
    Bug { name, kinds, object }
}

const MEMORY: [Bug; 11] = [
    bug("memory/double_free.c", &["failure"], "double free"),
    bug("memory/freed_by_both.c", &["order"], "freed_by_both.c:"),
    bug("memory/allocated_relaxed.c", &["race"], "int (allocated_relaxed.c:"),
    bug("memory/vptr.cc", &["race"], "->_vptr"),
    bug("memory/unmapped.c", &["order"], "unmapped.c:"),
    bug("memory/unmapped_part.c", &["race", "failure"], ""),
    bug("memory/uninitialised.c", &["order"], "uninitialised.c:"),
    bug("memory/scanned.c", &["race"], "height"),
    bug("memory/lines.c", &["race"], "first"),
    bug("memory/created_id.c", &["race"], "latest"),
    bug("memory/at_thread_exit.cc", &["race"], "by_object"),
];

const ANNOTATIONS: [Bug; 8] = [
    bug("annotations/acquire_release.c", &["race"], "data"),
    bug("annotations/own_lock.c", &["race"], "counted"),
    bug("annotations/signal.c", &["race"], "value"),
    bug("annotations/macros.c", &["race"], "counted"),
    bug("annotations/unseen.c", &["race"], "statistic"),
    bug("annotations/fibers_apart.c", &["race"], "shared"),
    bug("annotations/fiber_moves.c", &["race"], "counted"),
    bug("annotations/all_of_them.c", &["race"], "counted"),
];

fn hunt(name: &str, flags: &str) -> (Option<i32>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
    std::fs::copy(program(name), directory.path().join(file)).unwrap();
    let hunted = foretell(directory.path(), &["hunt", file, flags, "--json", "--quiet", "--timeout", "4"]);
    (hunted.status.code(), json(&hunted))
}

fn shown(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["shown"] == true).collect()
}

#[track_caller]
fn check(bug: &Bug) {
    let Bug { name, kinds, object } = bug;
    let (status, report) = hunt(name, "--flags=-g");
    let is_it = |finding: &&&Value| {
        kinds.contains(&finding["kind"].as_str().unwrap())
            && finding["object"].as_str().unwrap_or_default().contains(object)
    };
    let shown_bugs = shown(&report);
    let found = shown_bugs.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {report:#}"));
    assert_eq!((status, &found["rung"]), (Some(1), &"confirmed".into()), "{name}: {found:#}");
}

#[track_caller]
fn check_fixed(name: &str) {
    let (status, report) = hunt(name, "--flags=-g -DFIXED");
    assert_eq!((status, shown(&report).len()), (Some(0), 0), "{name}: {report:#}");
}

#[test]
fn a_race_on_the_pointer_to_virtual_functions_is_called_so() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program("memory/vptr.cc"), directory.path().join("vptr.cc")).unwrap();
    let hunted = foretell(directory.path(), &["hunt", "vptr.cc", "--timeout", "4"]);
    let said = String::from_utf8_lossy(&hunted.stdout);
    assert!(said.contains("data race on vptr of Square (vptr.cc:"), "{said}");
}

#[test]
fn memory_and_files() {
    MEMORY.iter().for_each(check);
}

#[test]
fn memory_and_files_used_correctly() {
    let fixed = MEMORY.iter().map(|bug| bug.name);
    fixed.chain(["memory/number_reused.c", "memory/block_again.c"]).for_each(check_fixed);
}

/// In another order another block may lie at an address: an access to it shows nothing about the one that was meant.
#[test]
fn what_another_block_shows_confirms_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(program("memory/block_again.c"), directory.path().join("block_again.c")).unwrap();
    for (model, seed) in [("rf", "0"), ("rf", "1"), ("sync", "0"), ("sync", "1")] {
        let search = ["--model", model, "--seed", seed, "--only", "race,order,misuse"];
        let hunt = ["hunt", "block_again.c", "--json", "--quiet", "--timeout", "5", "--show", "all"];
        let report = json(&foretell(directory.path(), &[hunt.as_slice(), &search].concat()));
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["rung"] != "confirmed"), "{model} {seed}: {report:#}");
    }
}

#[test]
fn annotations() {
    ANNOTATIONS.iter().for_each(check);
}

#[test]
fn annotations_of_what_is_correct() {
    ANNOTATIONS.iter().for_each(|bug| check_fixed(bug.name));
}
