//! Suggested fixes of recorded programs: each kind of fix, in every form of a report, and what is left when it is made.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::rust::program;
use crate::{foretell, json};

/// A program, what is wrong with it, and what is said to people.
struct Case {
    program: &'static str,
    kind: &'static str,
    object: &'static str,
    sentence: &'static str,
    /// Whether the edit is known for certain.
    has_edit: bool,
}

const CASES: [Case; 4] = [
    Case {
        program: "fix_missing.c",
        kind: "race",
        object: "savings",
        sentence: "Suggested fix: hold `vault` at fix_missing.c:17 and at fix_missing.c:18. Verified on this recording: \
                   the data race is then infeasible, and no new deadlock is feasible.",
        has_edit: true,
    },
    Case {
        program: "fix_wrong.c",
        kind: "race",
        object: "entries",
        sentence: "Suggested fix: hold `ledger` at fix_wrong.c:19 (which holds `journal`)",
        has_edit: false,
    },
    Case {
        program: "fix_widen.c",
        kind: "atomicity",
        object: "seats",
        sentence: "Suggested fix: hold `desk` from fix_widen.c:12 to fix_widen.c:16, without releasing it in between",
        has_edit: false,
    },
    Case {
        program: "fix_order.c",
        kind: "race",
        object: "letter",
        sentence: "Because of a memory order: with `release` instead of `relaxed` in the atomic write of delivered at fix_order.c:12, the race is \
                   infeasible (verified).",
        has_edit: true,
    },
];

/// Text without the ends of its lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes the edits of a fix in a file: its replacements are in the order of the file.
fn make(fix: &Value, file: &Path) {
    let source = fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let mut replacements: Vec<&Value> =
        fix["artifactChanges"][0]["replacements"].as_array().unwrap().iter().collect();
    let at =
        |replacement: &Value, name: &str| replacement["deletedRegion"][name].as_u64().unwrap() as usize - 1;
    replacements.sort_by_key(|replacement| (at(replacement, "startLine"), at(replacement, "startColumn")));
    for replacement in replacements.into_iter().rev() {
        let text = replacement["insertedContent"]["text"].as_str().unwrap();
        let columns = at(replacement, "startColumn")..at(replacement, "endColumn");
        lines[at(replacement, "startLine")].replace_range(columns, text);
    }
    fs::write(file, lines.join("\n") + "\n").unwrap();
}

#[test]
fn each_kind_of_fix_is_in_every_form_and_ends_the_bug() {
    for Case { program: name, kind, object, sentence, has_edit } in CASES {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        fs::copy(program(name), here.join(name)).unwrap();
        let files = ["--html", "page.html", "--sarif", "found.sarif"];
        let hunt = ["hunt", name, "--json", "--quiet", "--timeout", "20"];
        let hunted = foretell(here, &[&hunt[..], &files].concat());
        let report = json(&hunted);
        let mut findings = report["findings"].as_array().unwrap().iter();
        let is_meant = |finding: &&Value| {
            finding["kind"] == kind && finding["object"] == object && finding["shown"] == true
        };
        let finding = findings.find(is_meant).unwrap_or_else(|| panic!("{name}: {report:#}"));
        let text = foretell(here, &["report"]);
        let text = in_one_line(&String::from_utf8_lossy(&text.stdout));
        assert!(text.contains(sentence), "{name}: {text}");
        let page = fs::read_to_string(here.join("page.html")).unwrap();
        assert!(page.contains(sentence), "{name}: not in HTML");
        let sarif: Value = serde_json::from_slice(&fs::read(here.join("found.sarif")).unwrap()).unwrap();
        let mut results = sarif["runs"][0]["results"].as_array().unwrap().iter();
        let result = results.find(|result| result["properties"]["id"] == finding["id"]).unwrap();
        assert!(result["message"]["text"].as_str().unwrap().contains(sentence), "{name}: {result:#}");
        assert_eq!(result["fixes"].is_array(), has_edit, "{name}: {result:#}");
        if has_edit {
            make(&result["fixes"][0], &here.join(name));
            let again = foretell(here, &hunt);
            assert_eq!(again.status.code(), Some(0), "{name}: {again:?}");
        }
    }
}
