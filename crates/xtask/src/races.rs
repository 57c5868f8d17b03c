//! `cargo xtask bench races`: what finding races costs from the command line, reading included, with RAPID beside it.
//!
//! RAPID (the Java tools of the happens-before, WCP and sync-preserving papers) is no part of this repository: `RAPID_HOME` names a
//! checkout of its public repository with its classes compiled into `bin`. Without it its rows are left out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::bench::{circumstances, release_build, replace_section, with_directory};
use crate::measure::{Cost, cost_and_output};

const EVENTS: u64 = 1_000_000;
/// What RAPID may take, in seconds.
const PATIENCE: &str = "100";

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let mut section = format!("## Races\n\n{}", circumstances());
    with_directory(|directory| {
        let bench = Bench { foretell: &foretell, directory };
        section.push_str(&bench.beside_rapid()?);
        section.push_str(&bench.curve_of_hb()?);
        section.push_str(&bench.exact()?);
        Ok(())
    })?;
    replace_section("races", &section)
}

struct Bench<'a> {
    foretell: &'a str,
    directory: &'a Path,
}

/// One row of the comparison.
struct Row {
    what: String,
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

    fn beside_rapid(&self) -> Result<String, String> {
        let rapid = std::env::var_os("RAPID_HOME").map(PathBuf::from);
        let mut text = format!(
            "\nTraces of {EVENTS} generated events with 32 locks, 9 % synchronisation, cut down to what RAPID accepts, from text and (ours only) in the \
             native form. CPU seconds of the whole process, reading included; `--raw`: what the method reports, undecided. \
             RAPID's engines may take {PATIENCE} s.{}\n",
            if rapid.is_none() {
                " RAPID was not there (`RAPID_HOME`), so its rows are missing."
            } else {
                ""
            }
        );
        for threads in [8, 64] {
            let (all, text_file, native) = (self.file("all.ftr"), self.file("t.std"), self.file("t.ftr"));
            self.generate(EVENTS, threads, &all)?;
            self.foretell(&["convert", "-q", "--rapid", &all, &text_file])?;
            self.foretell(&["convert", "-q", &text_file, &native])?;
            let events = count_lines(&text_file)?;
            let mut rows = Vec::new();
            for method in ["hb", "lockset"] {
                for (form, file) in [("text", &text_file), ("native", &native)] {
                    rows.push(
                        self.ours(
                            &format!("foretell {method}, {form}"),
                            &["--raw", "--method", method, file],
                        ),
                    );
                }
            }
            rows.push(self.ours(
                "foretell syncp, each race decided too",
                &["--only", "race", "--method", "syncp", &native],
            ));
            for (engine, class) in
                [("HB", "HB"), ("lockset", "LockSet"), ("WCP", "WCP"), ("SyncP", "SyncPreserving")]
            {
                rows.extend(rapid.as_deref().map(|home| theirs(home, engine, class, &text_file)));
            }
            let _ = writeln!(text, "\n{threads} threads, {events} events:\n\n{}", table(&rows, events));
        }
        Ok(text)
    }

    fn ours(&self, what: &str, arguments: &[&str]) -> Row {
        eprintln!("measuring: {what}");
        let ran = self.foretell(&[&["predict", "--json"], arguments].concat());
        let outcome = ran.map(|(cost, printed)| {
            let raw = number_after(&printed, "\"racy_events\":");
            (cost, raw.or_else(|| number_after(&printed, "\"candidates\":")))
        });
        Row { what: what.to_owned(), outcome }
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
        text.push_str("\nMemory is the mapped file as far as it was read; what the method itself keeps does not grow.\n");
        Ok(text)
    }

    fn exact(&self) -> Result<String, String> {
        let mut text = String::from(
            "\n`poly` (every race decided, `--budget` as it is by default), native traces:\n\n\
             | events | threads | conflicting pairs | asked of the engine | races | unknown | CPU s | peak memory MB |\n|---|---|---|---|---|---|---|---|\n",
        );
        for exponent in 4..=6 {
            for threads in [8, 64] {
                eprintln!("measuring: poly on 10^{exponent} events, {threads} threads");
                let file = self.file("poly.ftr");
                self.generate(10u64.pow(exponent), threads, &file)?;
                let (cost, printed) = self.foretell(&["predict", &file, "--json", "--only", "race"])?;
                let figure = |key: &str| number_after(&printed, key).unwrap_or(0);
                let races = printed.matches("\"id\":\"race-").count();
                let _ = writeln!(
                    text,
                    "| 10^{exponent} | {threads} | {} | {} | {races} | {} | {:.2} | {:.0} |",
                    figure("\"pairs\":"),
                    figure("\"asked\":"),
                    figure("\"unknown\":"),
                    cost.cpu.as_secs_f64(),
                    cost.peak_bytes as f64 / 1e6
                );
            }
        }
        Ok(text)
    }
}

/// One of RAPID's engines on a text trace.
fn theirs(home: &Path, engine: &str, class: &str, trace: &str) -> Row {
    let path = ["bin", "lib/*", "lib/jgrapht/*"].map(|part| home.join(part).to_string_lossy().into_owned());
    let command =
        ["timeout", PATIENCE, "java", "-Xmx4g", "-cp", &path.join(":"), class, "-f", "std", "-p", trace];
    eprintln!("measuring: RAPID {engine}");
    let outcome = cost_and_output(&command).map(|(cost, printed)| {
        let racy = printed.lines().find_map(|line| line.strip_prefix("Number of 'racy' events found = "));
        (cost, racy.and_then(|number| number.trim().parse().ok()))
    });
    Row { what: format!("RAPID {engine}"), outcome }
}

fn table(rows: &[Row], events: u64) -> String {
    let mut table = String::from(
        "| what | racy events | wall s | CPU s | million events a CPU second | peak memory MB |\n|---|---|---|---|---|---|\n",
    );
    for Row { what, outcome } in rows {
        let _ = match outcome {
            Ok((cost, racy)) => writeln!(
                table,
                "| {what} | {} | {:.2} | {:.2} | {:.2} | {:.0} |",
                racy.map_or("-".to_owned(), |racy| racy.to_string()),
                cost.wall.as_secs_f64(),
                cost.cpu.as_secs_f64(),
                events as f64 / cost.cpu.as_secs_f64() / 1e6,
                cost.peak_bytes as f64 / 1e6
            ),
            Err(_) => writeln!(table, "| {what} | did not complete | - | - | - | - |"),
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
