//! `cargo xtask bench hostile`: small traces of odd shapes that once took minutes or all memory. Every row is to stay
//! within [`MOST_TIME`] of CPU time and [`MOST_MEMORY`]; one that does not says so, and one that takes far longer is stopped. Then long
//! generated traces, one row for each kind of finding; real programs that are fetched, built and recorded; and commands with limits.

mod limits;
pub(crate) mod odd;
mod recordings;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use generate::hostile::Shape;
use xtask::Outcome;
use xtask::machine::circumstances;
use xtask::results::store_report;
use xtask::scratch::with_directory;

use crate::measure::{cost_of, measured_binary};

/// What a row may take.
const MOST_TIME: Duration = Duration::from_secs(5);
const MOST_MEMORY: u64 = 500 << 20;
/// When a row is stopped, in seconds.
const STOPPED: &str = "100";
const STOPPED_GENERATED: &str = "600";

/// One measurement: a trace, and what is done with it.
struct Row {
    shape: Shape,
    arguments: &'static [&'static str],
    before: &'static str,
}

/// The rows, with what they took before they were bounded.
const ROWS: [Row; 13] = [
    Row { shape: Shape::Permits, arguments: &["predict"], before: "asks for 34 GB" },
    Row { shape: Shape::NestedLocks, arguments: &["predict", "--only", "deadlock"], before: "39 s, 5.8 GB" },
    Row { shape: Shape::Stripes, arguments: &["predict"], before: "over 60 s, 3.1 GB" },
    Row { shape: Shape::Writes, arguments: &["predict"], before: "over 100 s, 6 GB" },
    Row { shape: Shape::RepeatedWrites, arguments: &["predict"], before: "over 100 s, 6 GB" },
    Row { shape: Shape::ReadsAndWrites, arguments: &["predict"], before: "over 35 s, 9 GB" },
    Row { shape: Shape::ForkChain, arguments: &["predict"], before: "aborts" },
    Row { shape: Shape::Barrier, arguments: &["predict"], before: "over 100 s" },
    Row { shape: Shape::Broadcast, arguments: &["predict"], before: "14 s, 1.1 GB" },
    Row { shape: Shape::Threads, arguments: &["predict"], before: "over 100 s" },
    Row { shape: Shape::Workers, arguments: &["predict"], before: "asks for 31 GB" },
    Row { shape: Shape::RingBuffer, arguments: &["predict", "--only", "race"], before: "22 s" },
    Row {
        shape: Shape::RingBuffer,
        arguments: &["states", "--budget", "10", "--possibly", QUANTIFIERS],
        before: "does not end",
    },
];

/// A generated trace, which may take longer the longer it is, and what is done with it.
struct Generated {
    events: &'static str,
    arguments: &'static [&'static str],
    before: &'static str,
}

/// What a generated trace of ten million events may take.
const MOST_GENERATED: Duration = Duration::from_secs(60);
const MOST_GENERATED_MEMORY: u64 = 4 << 30;

const GENERATED: [Generated; 5] = [
    Generated {
        events: "50000",
        arguments: &["predict", "--only", "race", "--method", "lockset"],
        before: "over 100 s",
    },
    Generated { events: "10000000", arguments: &["predict", "--only", "race"], before: "32 s" },
    Generated { events: "10000000", arguments: &["predict", "--only", "deadlock"], before: "9.7 s" },
    Generated { events: "10000000", arguments: &["predict", "--only", "atomicity"], before: "over 150 s" },
    Generated {
        events: "10000000",
        arguments: &["predict", "--only", "nondeterminism"],
        before: "over 150 s",
    },
];

/// Thirty quantifiers, one in the other.
const QUANTIFIERS: &str = "exists a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd: \
                           done(a) + done(dd) == 0 - 1";

pub(crate) fn run() -> Outcome {
    let (foretell, build) = measured_binary()?;
    let mut section = format!("## Hostile shapes\n\n{} {build}\n", circumstances().trim_end());
    let _ = write!(
        section,
        "\n`cargo xtask bench hostile`: small traces of odd shapes (crates/generate/src/hostile.rs). Each may take {} s of CPU time and \
         {} MB; a row over that is marked.\n\n\
         | shape | size | bytes | command | before | CPU s | peak MB | |\n|---|--:|--:|---|---|--:|--:|---|\n",
        MOST_TIME.as_secs(),
        MOST_MEMORY >> 20
    );
    for row in &ROWS {
        section.push_str(&with_directory(|place| row.measured(&foretell, place))?);
    }
    let _ = write!(
        section,
        "\nGenerated traces (`foretell generate --threads 8 --locks 32`), which may take {} s of CPU time and {} MB:\n\n\
         | events | command | before | CPU s | peak MB | |\n|--:|---|---|--:|--:|---|\n",
        MOST_GENERATED.as_secs(),
        MOST_GENERATED_MEMORY >> 20
    );
    for row in &GENERATED {
        section.push_str(&with_directory(|place| row.measured(&foretell, place))?);
    }
    section.push_str(&with_directory(|place| recordings::section(&foretell, place))?);
    section.push_str(&with_directory(|place| limits::section(&foretell, place))?);
    print!("{section}");
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let (all, over) = (rows.clone().count(), rows.filter(|row| row.ends_with("| over |")).count());
    let headline = format!("{} of {all} inputs stay within their bounds of time and memory", all - over);
    store_report("hostile", &headline, &section)
}

impl Row {
    /// Its line in the table.
    fn measured(&self, foretell: &str, place: &Path) -> Result<String, String> {
        let text = self.shape.text(self.shape.size());
        let file = place.join(format!("{}.std", self.shape.name()));
        std::fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
        let file = file.display().to_string();
        let (verb, options) = self.arguments.split_first().ok_or("a row has no command")?;
        let mut command = vec!["timeout", STOPPED, foretell, verb, file.as_str()];
        command.extend(options);
        let shown =
            if options.len() > 2 { format!("{verb}, 30 quantifiers") } else { self.arguments.join(" ") };
        let cost = measured(&command, MOST_TIME, MOST_MEMORY);
        let (name, size, before) = (self.shape.name(), self.shape.size(), self.before);
        Ok(format!("| {name} | {size} | {} | `{shown}` | {before} | {cost} |\n", text.len()))
    }
}

impl Generated {
    /// Its line in the table.
    fn measured(&self, foretell: &str, place: &Path) -> Result<String, String> {
        let Generated { events, arguments, before } = *self;
        let file = place.join("generated.ftr").to_string_lossy().into_owned();
        let shape = ["--threads", "8", "--locks", "32"];
        cost_of(&[&[foretell, "generate", "-q", "--events", events, "-o", &file], &shape[..]].concat())?;
        let (verb, options) = arguments.split_first().ok_or("a row has no command")?;
        let command = [&["timeout", STOPPED_GENERATED, foretell, verb, file.as_str()], options].concat();
        let cost = measured(&command, MOST_GENERATED, MOST_GENERATED_MEMORY);
        Ok(format!("| {events} | `{}` | {before} | {cost} |\n", arguments.join(" ")))
    }
}

/// CPU seconds and peak of a command, as the last columns of a table have them.
fn measured(command: &[&str], most_time: Duration, most_memory: u64) -> String {
    match cost_of(command) {
        Ok(cost) => {
            let over = cost.cpu > most_time || cost.peak_bytes > most_memory;
            let mark = if over { "over" } else { "" };
            format!("{:.2} | {} | {mark}", cost.cpu.as_secs_f64(), cost.peak_bytes >> 20)
        }
        Err(_) => "stopped | | over".to_owned(),
    }
}
