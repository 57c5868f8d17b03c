//! What a linear method reports, as it stands: the trace is read as a stream, and memory does not grow with its length.
//!
//! Nothing is decided, since that takes the whole trace: a pair reported has no rung and no schedule, and need not be able to happen.

mod places;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use papers::races::Method;
use papers::races::hb::Hb;
use papers::races::lockset::Lockset;
use report::SCHEMA;
use serde::Serialize;
use trace::stream::Batch;
use trace::{EventId, LocationId, Op, SemaphoreId, ThreadId};

use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open;
use crate::output;
use crate::table::counted;

use places::{Places, Racy};

/// A method that streams.
enum Linear {
    Hb(Box<Hb>),
    Lockset(Box<Lockset>),
}

impl Linear {
    fn named(method: Method) -> Result<Linear, Diagnostic> {
        match method {
            Method::Hb => Ok(Linear::Hb(Box::default())),
            Method::Lockset => Ok(Linear::Lockset(Box::default())),
            _ => {
                Err(Diagnostic::new(format!("`--raw` needs a method that streams, and `{method}` does not"))
                    .help("use `--method hb` or `--method lockset`"))
            }
        }
    }

    /// Takes in the next event. If it is racy: where an earlier one is that it races with.
    #[inline]
    fn step(&mut self, event: EventId, thread: ThreadId, op: Op, location: LocationId) -> Option<LocationId> {
        // What is to be known of a partner is where it was.
        let known_as = EventId(location.0);
        let partner = match self {
            Linear::Hb(hb) => hb.step_as(event, known_as, thread, op),
            Linear::Lockset(lockset) => lockset.step(known_as, thread, op),
        };
        partner.map(|partner| LocationId(partner.0))
    }

    fn declare(&mut self, permits: &[Option<u32>]) {
        if let Linear::Hb(hb) = self {
            for (index, permits) in permits.iter().enumerate() {
                if let Some(permits) = permits {
                    hb.declare_permits(SemaphoreId::new(index), *permits);
                }
            }
        }
    }
}

/// All of it, as JSON. With `--all` the same is written piece by piece.
#[derive(Debug, Serialize)]
struct Reported<'a> {
    schema: u32,
    method: &'static str,
    pairs: Vec<Racy<'a>>,
    events: u64,
    racy_events: u64,
}

struct Tally {
    method: Linear,
    all: bool,
    manner: Manner,
    events: u64,
    racy: u64,
    declared: usize,
    places: Places,
    /// With `--all`: what is yet to be printed.
    lines: String,
    failed: Option<Diagnostic>,
}

/// Reads the trace, and prints what the method reports.
pub(super) fn run(trace: &OsStr, method: Method, all: bool, manner: Manner) -> Result<Exit, Diagnostic> {
    let mut tally = Tally {
        method: Linear::named(method)?,
        all,
        manner,
        events: 0,
        racy: 0,
        declared: 0,
        places: Places::default(),
        lines: String::new(),
        failed: None,
    };
    if manner.json && all {
        let _ = write!(tally.lines, "{{\"schema\":{SCHEMA},\"method\":\"{method}\",\"pairs\":[");
    }
    open::stream(trace, manner, &mut |batch| tally.take(batch))?;
    if let Some(failed) = tally.failed {
        return Err(failed);
    }
    tally.print(method)
}

impl Tally {
    fn take(&mut self, batch: &Batch<'_>) -> ControlFlow<()> {
        if batch.declared_permits.len() > self.declared {
            self.declared = batch.declared_permits.len();
            self.method.declare(batch.declared_permits);
        }
        self.events += batch.events().len() as u64;
        for (event, thread, op, location) in batch.events() {
            if let Some(partner) = self.method.step(event, thread, op, location) {
                self.found(batch, event, op, [partner, location]);
            }
        }
        match self.flush() {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(failed) => {
                self.failed = Some(failed);
                ControlFlow::Break(())
            }
        }
    }

    /// Counts a racy event, or writes it down.
    fn found(&mut self, batch: &Batch<'_>, event: EventId, op: Op, [earlier, later]: [LocationId; 2]) {
        let racy = || Racy {
            object: op.access().map_or("", |access| batch.names.variables.get(access.variable.index())),
            locations: [earlier, later].map(|location| batch.names.locations.get(location.index())),
            count: 1,
            event: event.0,
        };
        self.racy += 1;
        if !self.all {
            self.places.count([earlier, later], racy);
        } else if self.manner.json {
            self.lines.push_str(if self.racy > 1 { "," } else { "" });
            self.lines.push_str(&serde_json::to_string(&racy()).unwrap_or_default());
        } else if !self.manner.quiet {
            self.lines.push_str(&racy().in_words());
        }
    }

    /// Prints what was written down. No: nobody reads it.
    fn flush(&mut self) -> Result<bool, Diagnostic> {
        if self.lines.is_empty() {
            return Ok(true);
        }
        let printed = output::to_stdout(|out| out.write_all(self.lines.as_bytes()))?;
        self.lines.clear();
        Ok(printed.is_some())
    }

    /// Prints what is left at the end.
    fn print(mut self, method: Method) -> Result<Exit, Diagnostic> {
        let (events, racy) = (self.events, self.racy);
        let pairs: Vec<Racy<'_>> = self.places.in_order().collect();
        if self.manner.json && self.all {
            let _ = writeln!(self.lines, "],\"events\":{events},\"racy_events\":{racy}}}");
        } else if self.manner.json {
            let method = method.name();
            output::print_json(&Reported { schema: SCHEMA, method, pairs, events, racy_events: racy })?;
        } else {
            let places = if self.all {
                String::new()
            } else {
                format!(" at {} of locations", counted(pairs.len() as u64, "pair"))
            };
            let shown = pairs.iter().filter(|_| !self.manner.quiet);
            self.lines.extend(shown.map(|racy| racy.in_words()));
            let _ = writeln!(
                self.lines,
                "SUMMARY: {}{places} in {}, reported by `{method}`, not decided",
                counted(racy, "racy event"),
                counted(events, "event")
            );
        }
        self.flush()?;
        Ok(if racy > 0 { Exit::Findings } else { Exit::Nothing })
    }
}
