//! `cargo xtask bench hostile`: small traces of odd shapes, each of which once took minutes or all memory. Every row is to stay
//! within [`MOST_TIME`] of CPU time and [`MOST_MEMORY`]; one that does not says so, and one that takes far longer is stopped.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use generate::hostile::Shape;
use xtask::Outcome;
use xtask::cargo::release_build;
use xtask::machine::circumstances;
use xtask::results::replace_section;
use xtask::scratch::with_directory;

use crate::measure::cost_of;

/// What a row may take.
const MOST_TIME: Duration = Duration::from_secs(5);
const MOST_MEMORY: u64 = 500 << 20;
/// When a row is stopped, in seconds.
const STOPPED: &str = "100";

/// One measurement: a trace, and what is done with it.
struct Row {
    shape: Shape,
    arguments: &'static [&'static str],
    before: &'static str,
}

/// The rows, with what they took before they were bounded.
const ROWS: [Row; 12] = [
    Row { shape: Shape::Permits, arguments: &["predict"], before: "asks for 34 GB" },
    Row { shape: Shape::NestedLocks, arguments: &["predict", "--only", "deadlock"], before: "39 s, 5.8 GB" },
    Row { shape: Shape::Stripes, arguments: &["predict"], before: "over 60 s, 3.1 GB" },
    Row { shape: Shape::Writes, arguments: &["predict"], before: "over 100 s, 6 GB" },
    Row { shape: Shape::RepeatedWrites, arguments: &["predict"], before: "over 100 s, 6 GB" },
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

/// Thirty quantifiers, one in the other.
const QUANTIFIERS: &str = "exists a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd: \
                           done(a) + done(dd) == 0 - 1";

pub(crate) fn run() -> Outcome {
    let foretell = release_build()?;
    let mut section = String::from("## Hostile shapes\n\n");
    section.push_str(&circumstances());
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
    print!("{section}");
    replace_section("hostile", &section)
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
        let cost = match cost_of(&command) {
            Ok(cost) => {
                let over = cost.cpu > MOST_TIME || cost.peak_bytes > MOST_MEMORY;
                let mark = if over { "over" } else { "" };
                format!("{:.2} | {} | {mark}", cost.cpu.as_secs_f64(), cost.peak_bytes >> 20)
            }
            Err(_) => format!("over {STOPPED} | | over"),
        };
        let (name, size, before) = (self.shape.name(), self.shape.size(), self.before);
        Ok(format!("| {name} | {size} | {} | `{shown}` | {before} | {cost} |\n", text.len()))
    }
}
