//! `cargo xtask bench peers`: real programs, public kernels, and small programs that say what is wrong with them, each recorded once, foretold and replayed,
//! compared with gcc's ThreadSanitizer in 1, 20 and 100 runs and Helgrind in one.
//!
//! Debian's programs (bench/peers.toml) are fetched by `apt-get source`; `FORETELL_PEERS` names a directory with more of them and
//! a `peers.toml` that tells how they are built and run. What cannot be had is skipped, and the section says so. A bug is a pair of places in the source.
//! What we report that is not judged in one of the two files, from reading the source, is listed as not judged. What was measured of programs is kept
//! in `target/peers-cells.jsonl`: the command can be interrupted, and goes on where it was.

pub(crate) mod manifest;
pub(crate) mod place;
pub(crate) mod projects;
mod reports;
mod server;
mod suite;
mod trial;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use self::manifest::{Judgement, Program, Sources, Verdict, judgement_of};
use self::reports::Pair;
use self::trial::{Finding, ROUNDS, Row, SHORT_RUN, Trial};
use crate::cells::Cells;
use xtask::Outcome;
use xtask::cargo::release_build;
use xtask::machine::{circumstances, output_of};
use xtask::results::store_report;
use xtask::scratch::with_directory;

/// How much is packed and downloaded: enough for blocks for all threads.
const INPUT_BYTES: usize = 1_000_000;

/// Rows of paper 3's table 2: events captured, errors found, errors found by ThreadSanitizer in 100 runs.
const PAPER_3: [(&str, u64, u64, u64); 11] = [
    ("aget", 1_792, 2, 3),
    ("blackscholes", 1_568, 0, 0),
    ("boundedBuffer", 829, 0, 0),
    ("ctrace", 1_543, 3, 2),
    ("fft", 40_440, 0, 0),
    ("fmm", 1_078_923, 50, 36),
    ("lu", 59_857_037, 0, 0),
    ("lu-non", 971_559, 0, 0),
    ("qsort", 3_305, 6, 1),
    ("streamcluster", 388, 1, 1),
    ("water-nsquared", 27_560_223, 0, 0),
];

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let mut section = format!("## Real programs\n\n{}", circumstances());
    section.push_str(&with_directory(|directory| measure(&foretell, directory))?);
    let headline = section.lines().find(|line| line.starts_with("The median of recorded"));
    let headline = headline.and_then(|line| line.split(". ").next()).unwrap_or("?");
    store_report("peers", headline, &section)?;
    projects::run()
}

fn measure(built: &str, directory: &Path) -> Result<String, String> {
    // A copy, so that building can go on meanwhile.
    let foretell = directory.join("foretell");
    std::fs::copy(built, &foretell).map_err(|error| format!("cannot copy foretell: {error}"))?;
    let input = directory.join("input");
    let mut bytes = std::fs::read(&foretell).map_err(|error| format!("cannot read foretell: {error}"))?;
    bytes.truncate(INPUT_BYTES);
    std::fs::write(&input, bytes).map_err(|error| format!("cannot write: {error}"))?;
    let served = server::serve(&input);
    let mut sources = vec![Sources::debian(directory)?];
    match Sources::of_the_user()? {
        Some(more) => sources.push(more),
        None => println!("skipped: FORETELL_PEERS names no directory with a peers.toml"),
    }
    let bench = Bench { foretell: &foretell.to_string_lossy(), directory, input: &input, served };
    let mut cells = Cells::of("peers", &foretell, None)?;
    let (mut rows, mut skipped, mut suites) = (Vec::new(), Vec::new(), String::new());
    for source in &sources {
        for program in &source.manifest.program {
            eprintln!("measuring: {}", program.name);
            match cells.get(&program.name, || bench.row(source, program)) {
                Ok(row) => rows.push(row),
                Err(reason) => {
                    let first = reason.lines().next().unwrap_or_default();
                    skipped.push(
                        format!("{}: {first}", program.name).replace(&*directory.to_string_lossy(), ".."),
                    );
                }
            }
        }
        for suite in &source.manifest.suite {
            let place = directory.join("small");
            suites.push_str(&suite::section(suite, &source.directory, bench.foretell, &place)?);
        }
    }
    let judged: Vec<&Judgement> = sources.iter().flat_map(|source| &source.manifest.judged).collect();
    Ok([
        introduction(),
        bugs(&rows, &judged),
        skips(&skipped),
        costs(&rows),
        findings_one_by_one(&rows, &judged),
        paper_3(&rows),
    ]
    .concat()
        + "### Small programs that say what is wrong with them\n\n"
        + &suites)
}

struct Bench<'a> {
    foretell: &'a str,
    directory: &'a Path,
    input: &'a Path,
    /// Whether the web server is there.
    served: Outcome,
}

impl Bench<'_> {
    fn row(&self, sources: &Sources, program: &Program) -> Result<Row, String> {
        if program.run.contains("$SERVER") {
            self.served.clone()?;
        }
        let source = sources.of(program)?;
        let place = self.directory.join("trial");
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir(&place).map_err(|error| format!("cannot make a directory: {error}"))?;
        let trial = Trial {
            foretell: self.foretell,
            program,
            place: &place,
            peers: &sources.directory,
            input: self.input,
        };
        trial.row(&source)
    }
}

fn introduction() -> String {
    format!(
        "\n`FORETELL_PEERS=.. cargo xtask bench peers`: built with {} as the manifests say (bench/peers.toml, and the one in the directory named), each with `CC=gcc`, `CC=\"gcc -fsanitize=thread\"` and \
         `CC=\"foretell cc\"`. Ours is one recording (seed 0) and `foretell hunt --only race --only deadlock --only order`, with every finding replayed three times, and confirmed if a replay saw it; \
         ThreadSanitizer has 20 runs, and 100 if a run takes less than {SHORT_RUN} s; {} one. A bug is a pair of lines. Findings are judged by reading the source (bench/peers.toml and similar files). \
         CPU seconds are medians of {ROUNDS} rounds of plain, ThreadSanitizer and recorded; the cost of recording excludes loading, and the analysis is listed separately.\n\n",
        output_of("gcc", &["--version"]).lines().next().unwrap_or("gcc"),
        output_of("valgrind", &["--version"]),
    )
}

fn pairs(row: &Row) -> BTreeSet<Pair> {
    row.findings.iter().filter_map(Finding::pair).collect()
}

fn confirmed(row: &Row) -> BTreeSet<Pair> {
    let seen = row.findings.iter().filter(|finding| finding.rung == "confirmed");
    seen.filter_map(Finding::pair).collect()
}

fn bugs(rows: &[Row], judged: &[&Judgement]) -> String {
    let mut text = String::from("### Distinct bugs\n");
    let mut group = "";
    for row in rows {
        if row.program.group != group {
            group = &row.program.group;
            let _ = write!(
                text,
                "\n{group}:\n\n| program | ours | confirmed | judged: bugs | harmless | false alarms | not judged | TSan, 1 run | 20 | 100 | Helgrind | ours that TSan has not | TSan's that we have not | output |\n\
                 |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            );
        }
        let ours = pairs(row);
        let theirs = row.tsan.last().cloned().unwrap_or_default();
        let of = |wanted: Option<Verdict>| {
            let judged = |finding: &&Finding| {
                judgement_of(&row.program.name, finding, judged).map(|judged| judged.verdict) == wanted
            };
            row.findings.iter().filter(judged).filter_map(Finding::pair).collect::<BTreeSet<_>>().len()
        };
        let tsan = |index: usize| row.tsan.get(index).map_or("-".to_owned(), |found| found.len().to_string());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.program.name,
            ours.len(),
            confirmed(row).len(),
            of(Some(Verdict::Bug)),
            of(Some(Verdict::Harmless)),
            of(Some(Verdict::FalseAlarm)),
            of(None),
            tsan(0),
            tsan(1),
            tsan(2),
            row.helgrind.as_ref().map_or("-".to_owned(), |found| found.len().to_string()),
            ours.difference(&theirs).count(),
            theirs.difference(&ours).count(),
            if row.right { "right" } else { "WRONG" },
        );
    }
    text.push('\n');
    text
}

fn skips(skipped: &[String]) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let lines: String = skipped.iter().map(|line| format!("- {line}\n")).collect();
    format!("Not measured:\n\n{lines}\n")
}

fn costs(rows: &[Row]) -> String {
    let mut text = String::from(
        "### What it costs\n\n| program | plain, CPU s | ThreadSanitizer / plain | recorded / plain | recorded / ThreadSanitizer | `foretell record` / ThreadSanitizer | events | bytes per event on disk | analysis, CPU s | left open |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let (mut against, mut whole_against) = (Vec::new(), Vec::new());
    for row in rows {
        let [plain, sanitized, recorded, whole] = row.cpu;
        against.push(recorded / sanitized);
        whole_against.push(whole / sanitized);
        let _ = writeln!(
            text,
            "| {} | {plain:.3} | {:.1} | {:.1} | {:.2} | {:.2} | {} | {:.2} | {:.2} | {} |",
            row.program.name,
            sanitized / plain,
            recorded / plain,
            recorded / sanitized,
            whole / sanitized,
            row.events,
            row.bytes as f64 / row.events.max(1) as f64,
            row.analysis,
            row.unknown
        );
    }
    if !against.is_empty() {
        let _ = writeln!(
            text,
            "\nThe median of recorded / ThreadSanitizer is {:.2}, that of `foretell record` / ThreadSanitizer {:.2}. Each CPU time has the shell and the starting of the program in it, some milliseconds; files of few events are mostly names.",
            crate::measure::median(against),
            crate::measure::median(whole_against)
        );
    }
    text.push('\n');
    text
}

/// The findings one by one, and what only ThreadSanitizer has.
fn findings_one_by_one(rows: &[Row], judged: &[&Judgement]) -> String {
    let mut text = String::from("### One by one\n\n");
    for row in rows {
        let (ours, theirs) = (pairs(row), row.tsan.last().cloned().unwrap_or_default());
        for finding in &row.findings {
            let judgement = judgement_of(&row.program.name, finding, judged);
            let words = judgement.map_or("not judged".to_owned(), Judgement::words);
            let Finding { kind, object, places, rung } = finding;
            let _ = writeln!(
                text,
                "- {}: {kind} on `{object}`, {}, {rung}; {words}",
                row.program.name,
                places.join(" and ")
            );
        }
        for [first, second] in theirs.difference(&ours) {
            let _ = writeln!(text, "- {}: only ThreadSanitizer: {first} and {second}", row.program.name);
        }
    }
    text.push('\n');
    text
}

fn paper_3(rows: &[Row]) -> String {
    let mut text = String::from(
        "### Paper 3, table 2: applications\n\nThe paper's inputs are not known, and only the names of its programs: these are programs of those names, with small inputs. Errors are places in the source \
         there, pairs of places here, and ours are those confirmed by replay; each figure is ours / the paper's.\n\n\
         | application | program here | events recorded | errors found | by ThreadSanitizer in all its runs |\n|---|---|---|---|---|\n",
    );
    for (name, events, found, tsan) in PAPER_3 {
        let named = rows.iter().filter(|row| row.program.paper.as_deref() == Some(name));
        let mut none = true;
        for row in named {
            none = false;
            let _ = writeln!(
                text,
                "| {name} | {} | {} / {events} | {} / {found} | {} / {tsan} |",
                row.program.name,
                row.events,
                confirmed(row).len(),
                row.tsan.last().map_or(0, BTreeSet::len),
            );
        }
        if none {
            let _ = writeln!(text, "| {name} | none was had | - / {events} | - / {found} | - / {tsan} |");
        }
    }
    text.push('\n');
    text
}
