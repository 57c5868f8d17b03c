//! `cargo xtask bench rapid`: which racy events RAPID's engines and ours report, compared as sets, with each kind of difference explained.
//!
//! The comparison is a test of `papers` (tests/rapid), since the oracle is for tests only; it shrinks what shows a new kind of
//! difference into corpus/rapid/. What the kept cases say is put below the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;

use xtask::Outcome;
use xtask::cargo::{command, root};
use xtask::machine::circumstances;
use xtask::results::store_report;

pub(crate) fn run() -> Outcome {
    for (variable, content) in [
        ("RAPID_HOME", "a checkout of RAPID (github.com/umangm/rapid) with its classes compiled into bin"),
        ("FORETELL_TRACES", "RAPID's public traces"),
    ] {
        if std::env::var_os(variable).is_none() {
            return Err(format!("set {variable} to the directory of {content}"));
        }
    }
    let test = ["test", "--quiet", "--package", "foretell-papers", "--test", "rapid"];
    let chosen = ["--", "--ignored", "--nocapture", "sets_of_racy_events_beside_rapid"];
    let output = command(&[&test[..], &chosen].concat())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("the comparison failed:\n{printed}"));
    }
    let mut section = format!(
        "## RAPID's racy events and ours\n\n{}\n`cargo xtask bench rapid`: the racy events (later events of racing pairs) that RAPID's engines and our methods report for the same text, as sets. HB, lockset and SyncP are compared with our methods of the same name; SHB and WCP, which we do not have, with `poly`, which reports exactly what can happen. If only one side reports an event, the oracle (tiny traces) or `poly` (the others) decides whether it is racy; where this is missing, the trace was too long or a pair was left unknown. Each engine has a limit of 300 s of CPU time. The optimistic sync-reversal engine is not in RAPID's public \
         repository; `crates/candidates/tests/poly.rs` says what is known about its counts.\n\n\
         | trace | engine | both | only RAPID | only ours | differences, by the name of the kept case |\n|---|---|---|---|---|---|\n",
        circumstances()
    );
    for row in printed.lines().filter(|line| line.starts_with('|')) {
        let _ = writeln!(section, "{row}");
    }
    section.push_str("\nThe kept cases (corpus/rapid/), each the smallest trace found of its kind:\n\n");
    for (name, why) in kept_cases()? {
        let _ = writeln!(section, "- `{name}`: {why}.");
    }
    let headline = headline(&section);
    store_report("rapid", &headline, &section)
}

/// How many of the events that only RAPID reports are racy, and how many only we report.
fn headline(section: &str) -> String {
    let (mut extra, mut missed, mut found) = (0, 0, 0);
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let count = |cell: Option<&&str>| -> Option<[u64; 2]> {
            let (all, racy) = cell?.strip_suffix(" of them racy")?.split_once(", ")?;
            Some([all.parse().ok()?, racy.parse().ok()?])
        };
        if let Some([all, racy]) = count(cells.get(4)) {
            extra += all;
            missed += racy;
        }
        if let Some([_, racy]) = count(cells.get(5)) {
            found += racy;
        }
    }
    format!(
        "of {extra} events that only RAPID reports, {missed} are racy; {found} racy events are reported by us only"
    )
}

/// The kept cases, and why RAPID and we differ on each.
fn kept_cases() -> Result<BTreeMap<String, String>, String> {
    let folder = root().join("corpus/rapid");
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut kept = BTreeMap::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(name) = name.strip_suffix(".expect.toml") else { continue };
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let why = text.lines().find_map(|line| line.strip_prefix("why = \"")?.strip_suffix('"'));
        kept.insert(name.to_owned(), why.ok_or(format!("{name} does not say why"))?.to_owned());
    }
    Ok(kept)
}
