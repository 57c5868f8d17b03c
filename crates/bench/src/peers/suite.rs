//! Small programs whose comments say where a race or deadlock is, and where none is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::manifest::Suite;
use super::reports::{of_helgrind, of_tsan};
use super::trial::{Finding, SANITIZED, quoted};

/// How often ThreadSanitizer is given a chance; the programs are many, so it has no hundred runs here.
const RUNS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(15);

/// What the comments of a program say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    Race,
    NoRace,
    Deadlock,
    NoDeadlock,
}

impl Truth {
    /// Nothing if it says nothing, or something that begins with a remark that it is not to be believed.
    fn of(source: &str) -> Option<Truth> {
        let says =
            |word: &str| source.lines().any(|line| comment(line).is_some_and(|text| text.starts_with(word)));
        if source.starts_with("// SKIP") || source.starts_with("//SKIP") {
            return None;
        }
        match () {
            () if says("RACE!") => Some(Truth::Race),
            () if says("DEADLOCK") => Some(Truth::Deadlock),
            // A race that an analyser may report, with no word whether it is there.
            () if says("RACE") => None,
            () if says("NORACE") => Some(Truth::NoRace),
            () if says("NODEADLOCK") => Some(Truth::NoDeadlock),
            () => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Truth::Race => "a race",
            Truth::NoRace => "no race",
            Truth::Deadlock => "a deadlock",
            Truth::NoDeadlock => "no deadlock",
        }
    }

    /// Whether reports are right.
    fn wants_reports(self) -> bool {
        matches!(self, Truth::Race | Truth::Deadlock)
    }

    /// What is hunted for. To free what another thread uses is a race, too, which is a kind of its own here.
    fn kinds(self) -> &'static str {
        match self {
            Truth::Race | Truth::NoRace => "--only race --only order",
            Truth::Deadlock | Truth::NoDeadlock => "--only deadlock",
        }
    }
}

fn comment(line: &str) -> Option<&str> {
    line.split_once("//").map(|(_, comment)| comment.trim_start())
}

/// Who reported something in one program.
struct SuiteResult {
    name: String,
    ours: Option<Finding>,
    tsan_first: bool,
    tsan: bool,
    helgrind: bool,
}

/// The section about a suite.
pub(super) fn section(suite: &Suite, peers: &Path, foretell: &str, place: &Path) -> Result<String, String> {
    let directory = peers.join(&suite.source);
    let entries =
        std::fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    let (mut rows, mut unbuilt): (BTreeMap<Truth, Vec<SuiteResult>>, usize) = (BTreeMap::new(), 0);
    for file in &files {
        let source = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
        let Some(truth) = Truth::of(&source) else { continue };
        let _ = std::fs::remove_dir_all(place);
        std::fs::create_dir_all(place).map_err(|error| format!("cannot make a directory: {error}"))?;
        match (Small { suite, file, foretell, place }.reported(truth)) {
            Some(reported) => rows.entry(truth).or_default().push(reported),
            None => unbuilt += 1,
        }
    }
    Ok(table(suite, &rows, unbuilt))
}

struct Small<'a> {
    suite: &'a Suite,
    file: &'a Path,
    foretell: &'a str,
    place: &'a Path,
}

impl Small<'_> {
    /// What all tools say; nothing if it cannot be built as it is.
    fn reported(&self, truth: Truth) -> Option<SuiteResult> {
        let compilers = ["gcc", "gcc -fsanitize=thread", &format!("{} cc", self.foretell)];
        for (name, compiler) in ["plain", "tsan", "ours"].into_iter().zip(compilers) {
            let line = format!("{}\nmv program {name}", self.suite.build);
            let file = self.file.as_os_str();
            let mut build = Command::new("timeout");
            build
                .args(["60", "sh", "-ec", &line])
                .env("CC", compiler)
                .env("FILE", file)
                .current_dir(self.place);
            build.output().ok().filter(|output| output.status.success())?;
        }
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        eprintln!("measuring: {name}");
        let mut reported =
            SuiteResult { name, ours: self.hunt(truth), tsan_first: false, tsan: false, helgrind: false };
        let begin = Instant::now();
        // A program that hangs is not run again and again.
        for run in (0..RUNS).take_while(|_| begin.elapsed() < PATIENCE) {
            let found = !of_tsan(&self.said(&format!("{SANITIZED} ./tsan"))).is_empty();
            reported.tsan |= found;
            reported.tsan_first |= run == 0 && found;
        }
        reported.helgrind = !of_helgrind(&self.said("valgrind --tool=helgrind ./plain")).is_empty();
        Some(reported)
    }

    /// The best of what a hunt reports of the kind that the program is about.
    fn hunt(&self, truth: Truth) -> Option<Finding> {
        let results = quoted(&self.place.join("results"));
        let line = format!(
            "timeout -k 5 40 {} hunt -q --json {} --timeout 20 --results {results} -- ./ours < /dev/null 2> /dev/null",
            self.foretell,
            truth.kinds()
        );
        let output = Command::new("sh").args(["-c", &line]).current_dir(self.place).output().ok()?;
        let found: Value = serde_json::from_slice(&output.stdout).ok()?;
        let findings = found["findings"].as_array()?.iter().map(Finding::of);
        findings.max_by_key(|finding| finding.rung == "confirmed")
    }

    fn said(&self, command: &str) -> String {
        let line = format!("timeout -k 5 10 {command} < /dev/null 2>&1 > /dev/null");
        let output = Command::new("sh").args(["-c", &line]).current_dir(self.place).output();
        output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn table(suite: &Suite, rows: &BTreeMap<Truth, Vec<SuiteResult>>, unbuilt: usize) -> String {
    let mut text = format!(
        "{}, every program that says where a race or deadlock is or is not, and that builds as it is ({unbuilt} do not):\n\n\
         | the program says | programs | reported by us | confirmed by replay | ThreadSanitizer, 1 run | {RUNS} runs | Helgrind |\n|---|---|---|---|---|---|---|\n",
        suite.name
    );
    let mut listed = String::new();
    for (truth, rows) in rows {
        let count = |test: &dyn Fn(&SuiteResult) -> bool| rows.iter().filter(|row| test(row)).count();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            truth.words(),
            rows.len(),
            count(&|row| row.ours.is_some()),
            count(&|row| row.ours.as_ref().is_some_and(|finding| finding.rung == "confirmed")),
            count(&|row| row.tsan_first),
            count(&|row| row.tsan),
            count(&|row| row.helgrind),
        );
        for row in rows.iter().filter(|row| row.ours.is_some() != truth.wants_reports()) {
            let tsan = if row.tsan { "reports" } else { "does not" };
            let ours = row.ours.as_ref().map_or("nothing".to_owned(), |finding| {
                format!("{} at {} ({})", finding.kind, finding.places.join(" and "), finding.rung)
            });
            let _ = writeln!(
                listed,
                "- `{}` has {}; we report {ours}; ThreadSanitizer {tsan}.",
                row.name,
                truth.words()
            );
        }
    }
    if !listed.is_empty() {
        let _ = write!(text, "\nWhere we differ from the program:\n\n{listed}");
    }
    text.push('\n');
    text
}
