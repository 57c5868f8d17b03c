//! `cargo xtask bench linear` and `cargo xtask bench races`: what finding races costs from the command line, reading included, with RAPID
//! next to it; by the methods that stream, and by those that do not.
//!
//! RAPID (the Java tools of the happens-before, WCP and sync-preserving papers) is no part of this repository: `RAPID_HOME` names a
//! checkout of its public repository with its classes compiled into `bin`. Without it its rows are left out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::measure::{Cost, cost_and_output};
use xtask::Outcome;
use xtask::cargo::release_build;
use xtask::machine::circumstances;
use xtask::results::{rows, store_report};
use xtask::scratch::with_directory;

const EVENTS: u64 = 1_000_000;
/// What RAPID may take, in seconds.
const PATIENCE: &str = "100";

/// How often a run of milliseconds is repeated.
const RUNS: usize = 5;

/// The methods that stream.
pub(crate) fn linear() -> Outcome {
    let work = |bench: &Bench<'_>| Ok(bench.streaming_beside_rapid()? + &bench.curve_of_hb()?);
    measured("linear", "Races by the methods that stream", work, |figures| {
        let times = |what| column(figures, what, 5).join(" and ");
        format!(
            "`hb` is {} times as fast as RAPID's from text, `lockset` {} times (8 and 64 threads)",
            times("foretell hb, text"),
            times("foretell lockset, text")
        )
    })
}

/// The others.
pub(crate) fn run() -> Outcome {
    let work = |bench: &Bench<'_>| Ok(bench.predicting_beside_rapid()? + &bench.exact()?);
    measured("races", "Races", work, |figures| {
        let seconds = column(figures, "10^6", 7).join(" and ");
        format!("every race of a million events is decided in {seconds} CPU seconds (8 and 64 threads)")
    })
}

/// A column of the rows that begin with this cell.
fn column<'t>(figures: &'t str, first: &str, column: usize) -> Vec<&'t str> {
    rows(figures, first).iter().filter_map(|row| row.get(column).copied()).collect()
}

fn measured(
    name: &str,
    title: &str,
    work: impl FnOnce(&Bench<'_>) -> Result<String, String>,
    headline: impl FnOnce(&str) -> String,
) -> Outcome {
    let foretell = release_build()?;
    let circumstances = circumstances();
    let figures =
        with_directory(|directory| work(&Bench { foretell: &foretell, directory, rapid: rapid() }))?;
    store_report(name, &headline(&figures), &format!("## {title}\n\n{circumstances}{figures}"))
}

fn rapid() -> Option<PathBuf> {
    std::env::var_os("RAPID_HOME").map(PathBuf::from)
}

struct Bench<'a> {
    foretell: &'a str,
    directory: &'a Path,
    rapid: Option<PathBuf>,
}

/// A generated trace as RAPID accepts it.
struct Files {
    text: String,
    native: String,
    events: u64,
}

impl Files {
    /// What was measured with this number of threads.
    fn table(&self, threads: u64, rows: &[Row]) -> String {
        format!("\n{threads} threads, {} events:\n\n{}\n", self.events, table(rows, self.events))
    }
}

/// One row of the comparison.
struct Row {
    what: String,
    /// Which rows are of the same method.
    method: &'static str,
    outcome: Result<(Cost, Option<u64>), String>,
}

impl Bench<'_> {
    fn file(&self, name: &str) -> String {
        self.directory.join(name).to_string_lossy().into_owned()
    }

    fn foretell(&self, arguments: &[&str]) -> Result<(Cost, String), String> {
        cost_and_output(&[&[self.foretell], arguments].concat())
    }

    fn generate(&self, events: u64, threads: u64, file: &str) -> Outcome {
        let (events, threads) = (events.to_string(), threads.to_string());
        let settings = ["--events", &events, "--threads", &threads, "--locks", "32", "-o", file];
        self.foretell(&[&["generate", "-q"][..], &settings].concat()).map(drop)
    }

    fn files(&self, threads: u64) -> Result<Files, String> {
        let (all, text, native) = (self.file("all.ftr"), self.file("t.std"), self.file("t.ftr"));
        self.generate(EVENTS, threads, &all)?;
        self.foretell(&["convert", "-q", "--rapid", &all, &text])?;
        self.foretell(&["convert", "-q", &text, &native])?;
        let events = count_lines(&text)?;
        Ok(Files { text, native, events })
    }

    fn introduction(&self) -> String {
        let absent = match self.rapid {
            Some(_) => "",
            None => " RAPID was not there (`RAPID_HOME`), so its rows are missing.",
        };
        format!(
            "\nTraces of {EVENTS} generated events with 32 locks, 9 % synchronisation, cut down to what RAPID accepts. \
             CPU seconds of the whole process, including reading. RAPID's engines have a limit of {PATIENCE} s.{absent}"
        )
    }

    fn streaming_beside_rapid(&self) -> Result<String, String> {
        let mut text = self.introduction();
        let _ = writeln!(
            text,
            " Ours is also measured in the native format. `--raw`: what the method reports, undecided. Medians of {RUNS} runs."
        );
        for threads in [8, 64] {
            let files = self.files(threads)?;
            let mut rows = Vec::new();
            for (method, class) in [("hb", "HB"), ("lockset", "LockSet")] {
                for (form, file) in [("text", &files.text), ("native", &files.native)] {
                    let what = format!("foretell {method}, {form}");
                    let arguments = ["--raw", "--method", method, file];
                    rows.push(median_of((0..RUNS).map(|_| self.ours(method, &what, &arguments)).collect()));
                }
                rows.extend(self.rapid.as_deref().map(|home| theirs(home, method, class, &files.text)));
            }
            text.push_str(&files.table(threads, &rows));
        }
        Ok(text)
    }

    fn predicting_beside_rapid(&self) -> Result<String, String> {
        let mut text = self.introduction();
        text.push_str(
            " Ours decides and describes each race, once for each pair of locations: that is the number in its row.\n",
        );
        for threads in [8, 64] {
            let files = self.files(threads)?;
            let arguments = ["--only", "race", "--method", "syncp", &files.native];
            let mut rows =
                vec![self.told_in_words("syncp", "foretell syncp, each race decided and told", &arguments)];
            for (method, class) in [("wcp", "WCP"), ("syncp", "SyncPreserving")] {
                rows.extend(self.rapid.as_deref().map(|home| theirs(home, method, class, &files.text)));
            }
            text.push_str(&files.table(threads, &rows));
        }
        Ok(text)
    }

    fn ours(&self, method: &'static str, what: &str, arguments: &[&str]) -> Row {
        eprintln!("measuring: {what}");
        let ran = self.foretell(&[&["predict", "--json"], arguments].concat());
        let outcome = ran.map(|(cost, printed)| {
            let raw = number_after(&printed, "\"racy_events\":");
            (cost, raw.or_else(|| number_after(&printed, "\"candidates\":")))
        });
        Row { what: what.to_owned(), method, outcome }
    }

    fn told_in_words(&self, method: &'static str, what: &str, arguments: &[&str]) -> Row {
        eprintln!("measuring: {what}");
        let ran = self.foretell(&[&["predict"], arguments].concat());
        let outcome = ran.map(|(cost, printed)| (cost, number_before(&printed, " finding")));
        Row { what: what.to_owned(), method, outcome }
    }

    fn curve_of_hb(&self) -> Result<String, String> {
        let mut text = String::from(
            "\n`hb --raw` over native traces of 8 threads, all kinds of events:\n\n\
             | events | CPU s | million events a CPU second | peak memory MB |\n|---|---|---|---|\n",
        );
        for exponent in 4..=8 {
            eprintln!("measuring: hb on 10^{exponent} events");
            let (events, file) = (10u64.pow(exponent), self.file("curve.ftr"));
            self.generate(events, 8, &file)?;
            let (cost, _) = self.foretell(&["predict", "-q", "--raw", "--method", "hb", &file])?;
            let cpu = cost.cpu.as_secs_f64();
            let rate = events as f64 / cpu / 1e6;
            let peak = cost.peak_bytes as f64 / 1e6;
            let _ = writeln!(text, "| 10^{exponent} | {cpu:.3} | {rate:.1} | {peak:.0} |");
        }
        let _ = std::fs::remove_file(self.file("curve.ftr"));
        text.push_str("\nMemory is the part of the mapped file that was read; what the method itself stores does not grow.\n");
        Ok(text)
    }

    fn exact(&self) -> Result<String, String> {
        let mut text = String::from(
            "\n`poly` (every race decided and described, default `--budget`), native traces:\n\n\
             | events | threads | conflicting pairs | decided by the engine | races | unknown | wall s | CPU s | peak memory MB |\n|---|---|---|---|---|---|---|---|---|\n",
        );
        for exponent in 4..=6 {
            for threads in [8, 64] {
                eprintln!("measuring: poly on 10^{exponent} events, {threads} threads");
                let file = self.file("poly.ftr");
                self.generate(10u64.pow(exponent), threads, &file)?;
                let (cost, printed) = self.foretell(&["predict", &file, "--only", "race"])?;
                let figure = |phrase: &str| number_before(&printed, phrase).unwrap_or(0);
                let _ = writeln!(
                    text,
                    "| 10^{exponent} | {threads} | {} | {} | {} | {} | {:.2} | {:.2} | {:.0} |",
                    figure(" conflicting pair"),
                    figure(" were decided by the engine"),
                    figure(" finding"),
                    figure(" question"),
                    cost.wall.as_secs_f64(),
                    cost.cpu.as_secs_f64(),
                    cost.peak_bytes as f64 / 1e6
                );
            }
        }
        Ok(text)
    }
}

/// One of RAPID's engines on a text trace.
fn theirs(home: &Path, method: &'static str, class: &str, trace: &str) -> Row {
    let path = ["bin", "lib/*", "lib/jgrapht/*"].map(|part| home.join(part).to_string_lossy().into_owned());
    let command =
        ["timeout", PATIENCE, "java", "-Xmx4g", "-cp", &path.join(":"), class, "-f", "std", "-p", trace];
    eprintln!("measuring: RAPID {class}");
    let outcome = cost_and_output(&command).map(|(cost, printed)| {
        let racy = printed.lines().find_map(|line| line.strip_prefix("Number of 'racy' events found = "));
        (cost, racy.and_then(|number| number.trim().parse().ok()))
    });
    Row { what: format!("{RAPID}{class}"), method, outcome }
}

/// What the names of RAPID's rows start with.
const RAPID: &str = "RAPID ";

/// Of the same run made several times the one with the median CPU time; one that failed if any did.
fn median_of(mut runs: Vec<Row>) -> Row {
    runs.sort_by_key(|row| row.outcome.as_ref().map(|(cost, _)| cost.cpu).unwrap_or_default());
    let failed = runs.iter().position(|row| row.outcome.is_err());
    runs.swap_remove(failed.unwrap_or(runs.len() / 2))
}

impl Row {
    fn cpu(&self) -> Option<f64> {
        self.outcome.as_ref().ok().map(|(cost, _)| cost.cpu.as_secs_f64())
    }
}

fn table(rows: &[Row], events: u64) -> String {
    let mut table = String::from(
        "| what | racy events | wall s | CPU s | million events a CPU second | times RAPID's | peak memory MB |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Row { what, method, outcome } = row;
        let peer = rows.iter().find(|peer| peer.what.starts_with(RAPID) && peer.method == *method);
        let times = match (peer.and_then(Row::cpu), row.cpu()) {
            (Some(theirs), Some(ours)) if !what.starts_with(RAPID) => format!("{:.0}", theirs / ours),
            _ => String::new(),
        };
        let _ = match outcome {
            Ok((cost, racy)) => writeln!(
                table,
                "| {what} | {} | {:.2} | {:.3} | {:.2} | {times} | {:.0} |",
                racy.map_or("-".to_owned(), |racy| racy.to_string()),
                cost.wall.as_secs_f64(),
                cost.cpu.as_secs_f64(),
                events as f64 / cost.cpu.as_secs_f64() / 1e6,
                cost.peak_bytes as f64 / 1e6
            ),
            Err(_) => writeln!(table, "| {what} | did not complete | - | - | - | | - |"),
        };
    }
    table
}

fn count_lines(file: &str) -> Result<u64, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    Ok(bytes.iter().filter(|&&byte| byte == b'\n').count() as u64)
}

/// The number that follows a key in JSON.
fn number_after(json: &str, key: &str) -> Option<u64> {
    let rest = &json[json.find(key)? + key.len()..];
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// The last number in words, thousands apart, that stands before a phrase.
fn number_before(words: &str, phrase: &str) -> Option<u64> {
    let before = &words[..words.rfind(phrase)?];
    let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    number.replace(',', "").parse().ok()
}
