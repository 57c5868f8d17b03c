//! `foretell generate`: random traces of any size, for measuring and trying things out.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Args;
use generate::{Generator, SettingsError, TraceSettings, Weights};
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::output::{self, Form, OutputTarget};
use crate::progress;
use crate::quantity::{count, percent, quantity};
use crate::table::{bytes, counted};
use pipeline::Bounds;
use pipeline::budget::{BoundedWriter, ensure_within};

const EXAMPLES: &str = "\
The same settings and seed give the same trace. Events are written as they are
generated, so memory does not grow with their number.

Examples:
  foretell generate --events 10M --threads 8 -o big.ftr    ten million events
  foretell generate --events 1e5 --threads 4 -o t.std.gz   compressed text
  foretell generate --events 1k --sync-percent 40 -o -     much locking
  foretell generate --tiny --seed 7 -o -                   many kinds of events

Numbers can be written 10000000, 10_000_000, 10M or 1e7.";

/// Generate a random trace: a random program run by a random scheduler.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Generate {
    /// The number of events.
    #[arg(long, value_name = "N", value_parser = quantity, required_unless_present = "tiny")]
    events: Option<u64>,
    /// The number of threads.
    #[arg(long, value_name = "K", value_parser = count, default_value = "8")]
    threads: u32,
    /// The number of locks.
    #[arg(long, value_name = "N", value_parser = count, default_value = "64")]
    locks: u32,
    /// The number of variables.
    #[arg(long, value_name = "N", value_parser = count, default_value = "10_000")]
    variables: u32,
    /// The number of source locations.
    #[arg(long, value_name = "N", value_parser = count, default_value = "5_000")]
    locations: u32,
    /// The maximum number of locks that a thread holds.
    #[arg(long, value_name = "N", value_parser = count, default_value = "4")]
    nesting: u32,
    /// The share of synchronisation among the events.
    #[arg(long, value_name = "P", value_parser = percent, default_value = "9")]
    sync_percent: f64,
    /// The share of accesses that use one lock or one thread per variable; the others may race.
    #[arg(long, value_name = "P", value_parser = percent, default_value = "99.9")]
    disciplined_percent: f64,
    /// The share of nested acquires that ignore the lock order and may deadlock.
    #[arg(long, value_name = "P", value_parser = percent, default_value = "1")]
    inversion_percent: f64,
    /// The probability of a thread switch after an event.
    #[arg(long, value_name = "P", value_parser = percent, default_value = "2")]
    switch_percent: f64,
    /// The seed of the random generator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Generate a tiny trace with many kinds of events, as the fuzzers use; only the seed matters.
    #[arg(long, conflicts_with = "events")]
    tiny: bool,
    /// The file to write: `.ftr` is the native format, everything else text, compressed if it ends in `.gz` or
    /// `.zst`; `-` is standard output.
    #[arg(short, long, value_name = "T")]
    output: OsString,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    limits: TimeAndMemory,
}

/// The contract is docs/json.md.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    to: &'a str,
    events: u64,
    bytes: u64,
    seed: u64,
}

impl Generate {
    /// Writes the trace, and says what was written.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let target = OutputTarget::named(&self.output)?;
        if self.mode.json && target == OutputTarget::Stdout {
            return Err(output::two_on_stdout());
        }
        let settings = self.settings();
        let generator = Generator::new(&settings).map_err(|error| impossible(&error))?;
        let bounds = self.limits.start();
        let events = match self.write(generator, &target, bounds) {
            Ok(events) => events,
            Err(failed) => {
                ensure_within(bounds)?;
                return Err(failed);
            }
        };
        let Some(events) = events else {
            return Ok(Exit::Nothing);
        };
        let written = target.size().unwrap_or(0);
        if self.mode.json {
            let to = target.name();
            output::print_json(&Report { schema: 1, to: &to, events, bytes: written, seed: self.seed })?;
        } else if !self.mode.quiet && target != OutputTarget::Stdout {
            eprintln!("wrote {} to {} ({})", counted(events, "event"), target.name(), bytes(written));
        }
        Ok(Exit::Nothing)
    }

    fn settings(&self) -> TraceSettings {
        let Some(events) = self.events else {
            return TraceSettings::tiny(self.seed);
        };
        TraceSettings {
            seed: self.seed,
            locations: self.locations,
            nesting: self.nesting,
            weights: Weights::large((self.sync_percent * 10_000.0) as u32),
            disciplined: self.disciplined_percent / 100.0,
            inversions: self.inversion_percent / 100.0,
            switch: self.switch_percent / 100.0,
            ..TraceSettings::large(events, self.threads, self.locks, self.variables)
        }
    }

    /// How many events were written. `None`: the reader of standard output went away.
    fn write(
        &self,
        generator: Generator,
        target: &OutputTarget,
        bounds: Bounds,
    ) -> Result<Option<u64>, Diagnostic> {
        let bar = progress::of_events("generating", self.events.unwrap_or(0), self.mode);
        let tell = |events: u64| bar.set_position(events);
        let written = target.write(|out: &mut dyn Write| -> io::Result<u64> {
            let mut out = BoundedWriter { inner: out, bounds };
            match target.form() {
                Form::Native => generate::write_native(generator, &mut out, tell),
                Form::Text(_) => generate::write_text(generator, &mut out, tell),
            }
        });
        bar.finish_and_clear();
        written
    }
}

fn impossible(error: &SettingsError) -> Diagnostic {
    Diagnostic::new(format!("cannot generate such a trace: {error}"))
}
