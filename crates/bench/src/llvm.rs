//! `cargo xtask bench llvm`: the programs that LLVM tests ThreadSanitizer with, each hunted in by Foretell and run with ThreadSanitizer. Each
//! says by its CHECK lines what ThreadSanitizer must report, or that it must be silent.
//!
//! They are not in this repository. `FORETELL_LLVM_TSAN` names the directory `compiler-rt/test/tsan` of LLVM's sources, as
//! unpacked, and `FORETELL_LLVM_ONLY` single tests, separated by commas. Their own RUN lines say how they are built and run; `clang` is the one of the PATH for both tools.

mod expected;
mod reasons;
mod script;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::parallel;
use expected::{Expected, expected, is_report, run_lines};
use script::{MARK, Places, Tool, script};
use xtask::Outcome;
use xtask::cargo::{cargo, root};
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// How long a test may take in all with one tool, in seconds.
const LIMIT: &str = "240";

/// How long each hunt may take, in seconds; and again if the test does not come out as expected: as long as a user's hunt.
const HUNT_LIMIT: u64 = 4;
const SECOND_LIMIT: u64 = 60;

/// The result of a run, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Found, and confirmed by a replay.
    Confirmed,
    /// Found, by prediction.
    Predicted,
    /// Found, but as another kind of bug than ThreadSanitizer calls it.
    Otherwise,
    Silent,
    NotRun,
    Failed,
    FalseAlarm,
    Missed,
}

impl Verdict {
    const ALL: [(Verdict, &'static str); 8] = [
        (Verdict::Confirmed, "confirmed by replay"),
        (Verdict::Predicted, "only predicted"),
        (Verdict::Otherwise, "found as another kind"),
        (Verdict::Silent, "silent as expected"),
        (Verdict::Missed, "missed"),
        (Verdict::FalseAlarm, "false alarm"),
        (Verdict::Failed, "did not run to an end"),
        (Verdict::NotRun, "runs nothing"),
    ];

    /// Whether it is another outcome than the test expects.
    fn is_open(self) -> bool {
        matches!(self, Verdict::Missed | Verdict::FalseAlarm | Verdict::Failed)
    }
}

/// A test, and the worst result of its runs.
struct Row {
    name: String,
    expected: Expected,
    verdict: Verdict,
    remark: String,
    /// Whether all runs with ThreadSanitizer are as expected; none if it did not run.
    tsan: Option<bool>,
}

pub(crate) fn run() -> Outcome {
    let Some(tests) = std::env::var_os("FORETELL_LLVM_TSAN").map(PathBuf::from) else {
        return Err(
            "set FORETELL_LLVM_TSAN to the directory compiler-rt/test/tsan of LLVM's sources".to_owned()
        );
    };
    // A hunt has a time limit, so what it comes to depends on the build: this is the one that users have.
    cargo(&["build", "--quiet", "--release", "--package", "foretell"])?;
    let mut names = names(&tests)?;
    // A few by name are for looking at them: nothing is kept.
    let asked = std::env::var("FORETELL_LLVM_ONLY").ok();
    if let Some(asked) = &asked {
        names.retain(|name| asked.split(',').any(|asked| name == asked));
    }
    let rows = with_directory(|directory| {
        // A copy, so that building can go on meanwhile.
        let foretell = directory.join("foretell").to_string_lossy().into_owned();
        std::fs::copy(root().join("target/release/foretell"), &foretell)
            .map_err(|error| format!("cannot copy foretell: {error}"))?;
        Suite { foretell: &foretell, tests: &tests, directory }.rows(&names)
    })?;
    if asked.is_some() {
        print!("{}", section(&rows));
        return Ok(());
    }
    let tests = rows.iter().filter(|row| row.verdict != Verdict::NotRun).count();
    let ours = rows.iter().filter(|row| row.verdict != Verdict::NotRun && !row.verdict.is_open()).count();
    let theirs = rows.iter().filter(|row| row.tsan == Some(true)).count();
    let lost = rows.iter().filter(|row| row.verdict.is_open() && row.tsan == Some(true)).count();
    let headline = format!(
        "of {tests} tests {ours} come out as expected, with ThreadSanitizer {theirs}; {lost} do with ThreadSanitizer only"
    );
    store_report("llvm", &headline, &section(&rows))
}

/// The tests, by their paths below the directory: those for every system, and those for Linux.
fn names(tests: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for below in ["", "Linux/"] {
        let entries =
            std::fs::read_dir(tests.join(below)).map_err(|error| format!("{}: {error}", tests.display()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".c", ".cc", ".cpp"].iter().any(|end| name.ends_with(end)) {
                names.push(format!("{below}{name}"));
            }
        }
    }
    names.sort();
    Ok(names)
}

struct Suite<'a> {
    foretell: &'a str,
    tests: &'a Path,
    directory: &'a Path,
}

impl Suite<'_> {
    /// Runs all tests, several at a time.
    fn rows(&self, names: &[String]) -> Result<Vec<Row>, String> {
        parallel::map(names, |name| self.row(name))
    }

    fn row(&self, name: &str) -> Result<Row, String> {
        let source = self.tests.join(name);
        let bytes = std::fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = run_lines(&text);
        let runs: Vec<Expected> =
            lines.iter().filter(|line| line.contains("%run")).map(|line| expected(line, &text)).collect();
        if runs.is_empty() {
            let remark = "its RUN lines run nothing".to_owned();
            let (expected, verdict) = (Expected::Silence, Verdict::NotRun);
            return Ok(Row { name: name.to_owned(), expected, verdict, remark, tsan: None });
        }
        let theirs = self.output(Tool::ThreadSanitizer, name, &source, &text)?;
        // What does not build with ThreadSanitizer reports nothing, which is not to its credit.
        let is_built = !theirs.runs.iter().any(|run| run.contains(" generated.\n"));
        let mut tsan = (theirs.runs.len() == runs.len() && is_built).then_some(true);
        let mut stated = Vec::new();
        for (index, run) in runs.into_iter().enumerate() {
            let reports = theirs.runs.get(index).map(|output| is_report(output));
            let run = match (run, reports) {
                (Expected::Unstated, Some(true)) => Expected::Other("any".to_owned()),
                (Expected::Unstated, Some(false)) => Expected::Silence,
                (run, _) => run,
            };
            if let (Some(all), Some(reports)) = (&mut tsan, reports) {
                *all &= reports != (run == Expected::Silence);
            }
            stated.push(run);
        }
        let hunted = |limit| {
            let tool = Tool::Foretell { program: self.foretell, limit };
            let ours = self.output(tool, name, &source, &text)?;
            worst(&stated, &ours).ok_or_else(|| "a test without runs".to_owned())
        };
        let mut outcome = hunted(HUNT_LIMIT)?;
        if outcome.1.is_open() && !matches!(outcome.1, Verdict::FalseAlarm) {
            outcome = hunted(SECOND_LIMIT)?;
        }
        let (expected, verdict, remark) = outcome;
        eprintln!("{name}: {verdict:?} {remark}");
        Ok(Row { name: name.to_owned(), expected, verdict, remark, tsan })
    }

    /// Runs a test with a tool.
    fn output(&self, tool: Tool<'_>, name: &str, source: &Path, text: &str) -> Result<Output, String> {
        let work = self.directory.join(name.replace('/', "-"));
        std::fs::create_dir_all(&work).map_err(|error| format!("cannot make a directory: {error}"))?;
        let script = script(tool, text, &Places { tests: self.tests, source, work: &work });
        let mut command = Command::new("timeout");
        // Both streams are looked through for ThreadSanitizer's reports.
        let script = if tool == Tool::ThreadSanitizer { format!("exec 2>&1\n{script}") } else { script };
        command.args(["--kill-after=5", LIMIT, "sh", "-c", &script]).current_dir(&work);
        command.env("FORETELL_CC", "clang").env("FORETELL_CXX", "clang++");
        command.env("TSAN_OPTIONS", if tool == Tool::ThreadSanitizer { "atexit_sleep_ms=0" } else { "" });
        let output = command.output().map_err(|error| format!("cannot run sh: {error}"))?;
        let _ = std::fs::remove_dir_all(&work);
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        let is_late = matches!(output.status.code(), Some(124 | 137));
        let why_not = if is_late { "its time ran out".to_owned() } else { last };
        Ok(Output { runs: said.split(MARK).skip(1).map(str::to_owned).collect(), why_not })
    }
}

/// What a tool printed in each run of a test.
struct Output {
    runs: Vec<String>,
    /// The last complaint, if a run is missing.
    why_not: String,
}

/// The findings that a hunt shows; none if it did not come so far.
fn findings(output: &str) -> Option<Vec<Value>> {
    let report = output.lines().find(|line| line.starts_with("{\"schema\""))?;
    let mut report: Value = serde_json::from_str(report).ok()?;
    let findings = std::mem::take(report["findings"].as_array_mut()?);
    // What a user is not shown is not reported.
    Some(findings.into_iter().filter(|finding| finding["shown"] != false).collect())
}

/// The run that comes out worst.
fn worst(stated: &[Expected], ours: &Output) -> Option<(Expected, Verdict, String)> {
    let judged = stated.iter().enumerate().map(|(index, run)| {
        let (verdict, remark) = match ours.runs.get(index).and_then(|output| findings(output)) {
            Some(findings) => judged_run(run, &findings),
            None => (Verdict::Failed, ours.why_not.clone()),
        };
        (run.clone(), verdict, remark)
    });
    judged.max_by_key(|(_, verdict, _)| *verdict)
}

fn judged_run(expected: &Expected, findings: &[Value]) -> (Verdict, String) {
    let is = |finding: &Value, kinds: &[&str]| kinds.contains(&finding["kind"].as_str().unwrap_or_default());
    let kinds: &[&str] = match expected {
        Expected::Race => &["race", "order"],
        Expected::Deadlock => &["deadlock"],
        Expected::Other(kind) if kind.starts_with("double lock") => &["misuse", "deadlock"],
        Expected::Other(kind) if kind.starts_with("use of an invalid") => &["misuse", "race"],
        Expected::Other(kind) if kind != "any" => &["misuse"],
        Expected::Other(_) | Expected::Silence | Expected::Unstated => {
            &["race", "order", "deadlock", "misuse"]
        }
    };
    let wanted: Vec<&Value> = findings.iter().filter(|finding| is(finding, kinds)).collect();
    let confirmed = wanted.iter().any(|finding| finding["rung"] == "confirmed");
    match (expected, wanted.first(), findings.first()) {
        (Expected::Silence, Some(finding), _) => (Verdict::FalseAlarm, in_words(finding)),
        (Expected::Silence, None, _) => (Verdict::Silent, String::new()),
        (_, Some(_), _) if confirmed => (Verdict::Confirmed, String::new()),
        (_, Some(finding), _) => (Verdict::Predicted, in_words(finding)),
        (_, None, Some(finding)) => (Verdict::Otherwise, in_words(finding)),
        (_, None, None) => (Verdict::Missed, String::new()),
    }
}

fn in_words(finding: &Value) -> String {
    let places = finding["locations"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let places: Vec<&str> = places.map(|place| place.rsplit('/').next().unwrap_or(place)).collect();
    let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    format!("{} {} at {}", word("rung"), word("kind"), places.join(" and "))
}

fn section(rows: &[Row]) -> String {
    let mut text = format!("## LLVM's tests of ThreadSanitizer\n\n{}", circumstances());
    let _ = write!(
        text,
        "\n`FORETELL_LLVM_TSAN=.. cargo xtask bench llvm`: {} programs, built with {} as their own RUN lines say. Each run of a test is hunted for {HUNT_LIMIT} seconds \
         by `foretell hunt --only race,deadlock,order,misuse`, and if the test is missed then, once more for {SECOND_LIMIT} seconds, which a user's hunt has; the run that comes out worst counts. A test that expects a race counts as found if one is shown (or a use of freed memory), one that expects another \
         report if a misuse is. ThreadSanitizer runs the same tests, up to ten times where they ask for it; it counts if it warns where a warning is expected, and nowhere else. The barriers with which the tests \
         arrange their runs order nothing. No test is set apart.\n\n| expected | tests | ThreadSanitizer as expected |",
        rows.len(),
        clang(),
    );
    for (_, name) in Verdict::ALL {
        let _ = write!(text, " {name} |");
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(Verdict::ALL.len()));
    text.push('\n');
    for group in ["a race", "a deadlock", "another report", "silence"] {
        let of_it: Vec<&Row> = rows.iter().filter(|row| row.expected.group() == group).collect();
        let by_tsan = of_it.iter().filter(|row| row.tsan == Some(true)).count();
        let _ = write!(text, "| {group} | {} | {by_tsan} |", of_it.len());
        for (verdict, _) in Verdict::ALL {
            let _ = write!(text, " {} |", of_it.iter().filter(|row| row.verdict == verdict).count());
        }
        text.push('\n');
    }
    text.push_str(&tests_with_remarks(rows));
    text
}

fn tests_with_remarks(rows: &[Row]) -> String {
    let open = |row: &&Row| row.verdict.is_open();
    let lost = rows.iter().filter(open).filter(|row| row.tsan == Some(true)).count();
    let mut text = format!(
        "\n{lost} tests come out as expected with ThreadSanitizer and not with Foretell. These and all others that do not come out as expected:\n\n\
         | test | expected | ThreadSanitizer | Foretell | why |\n|---|---|---|---|---|\n"
    );
    for row in rows.iter().filter(open) {
        let tsan = match row.tsan {
            Some(true) => "as expected",
            Some(false) => "not as expected",
            None => "did not run",
        };
        let came = format!("{:?} {}", row.verdict, row.remark.replace('|', "/"));
        let why = reasons::reason(&row.name).unwrap_or("Not known.");
        let _ =
            writeln!(text, "| {} | {} | {tsan} | {} | {why} |", row.name, row.expected.group(), came.trim());
    }
    text.push_str(
        "\nFound by prediction only, or as another kind of bug:\n\n| test | what is reported |\n|---|---|\n",
    );
    for row in rows.iter().filter(|row| matches!(row.verdict, Verdict::Predicted | Verdict::Otherwise)) {
        let _ = writeln!(text, "| {} | {} |", row.name, row.remark.replace('|', "/"));
    }
    text
}

/// The first line of what clang says about itself.
fn clang() -> String {
    let output =
        Command::new("clang").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("clang").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: &str, rung: &str) -> Value {
        serde_json::json!({ "kind": kind, "rung": rung, "locations": ["a.c:1"] })
    }

    #[test]
    fn runs_are_judged_by_what_is_expected() {
        let judge = |expected: Expected, findings: &[Value]| judged_run(&expected, findings).0;
        assert_eq!(judge(Expected::Race, &[finding("race", "confirmed")]), Verdict::Confirmed);
        assert_eq!(judge(Expected::Race, &[finding("order", "predicted")]), Verdict::Predicted);
        assert_eq!(judge(Expected::Race, &[finding("failure", "confirmed")]), Verdict::Otherwise);
        assert_eq!(judge(Expected::Race, &[]), Verdict::Missed);
        assert_eq!(judge(Expected::Silence, &[finding("race", "predicted")]), Verdict::FalseAlarm);
        assert_eq!(judge(Expected::Silence, &[]), Verdict::Silent);
        assert_eq!(
            judge(Expected::Other("thread leak".into()), &[finding("misuse", "predicted")]),
            Verdict::Predicted
        );
    }

    #[test]
    fn hidden_findings_are_not_reported() {
        let report = "\n{\"schema\":1,\"findings\":[{\"kind\":\"race\",\"shown\":false}]}\n";
        assert_eq!(findings(report), Some(Vec::new()));
        assert_eq!(findings("nothing"), None);
    }
}
