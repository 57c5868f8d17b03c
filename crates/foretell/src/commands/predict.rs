//! `foretell predict`: the bugs of the runs that did not happen, each with a schedule that shows it.
//!
//! Searches report as they go (`candidates`); `gather.rs` keeps one finding for each set of source locations,
//! or all of them; `crate::foretold` writes schedules out and verifies each before it is told. How findings are shown is in `crate::reporting`.

mod gather;
mod others;
mod predicates;
mod private;
mod races;
mod raw;
mod search;

use std::ffi::OsString;

use clap::Args;

pub(crate) use search::Search;

use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::open::{Opened, open};
use crate::reporting::{Outputs, Reporting};
use crate::stack::with_room;

const EXAMPLES: &str = "\
Examples:
  foretell predict run.ftr                          every bug that can be foretold from this run
  foretell predict run.std.gz --only race --all     every racing pair of events, not one for each pair of places
  foretell predict run.ftr --model sync             also what may depend on values that reads would see
  foretell predict run.ftr --only race --method hb  what happens-before reports, with what is true of it
  foretell predict huge.ftr --raw --method hb       the same undecided, of a trace of any length
  foretell predict run.ftr --only deadlock,race     other kinds: atomicity, order, nondeterminism
  foretell predict run.ftr --order 'use.c:7 < init.c:3'     can the use come before the initialisation?
  foretell predict run.ftr --rules rules.toml       what must not be, from a file (see docs/rules.md)
  foretell predict run.ftr --only atomicity --method avfilter   paper 5's filter instead of the engine
  foretell predict run.ftr --only atomicity --atomic-within lock    only what lies in one critical section
  foretell predict run.ftr --json                   for programs (see docs/json.md)

Methods to find races: lockset, hb (happens-before), cp (causally precedes), syncp (sync-preserving),
ucg (rule 1 and cycles), poly (the engine; exact). Each pair that a method reports is asked of the engine too,
for its rung; pairs that are infeasible are counted, not shown.
Methods to find atomicity violations: over (all that synchronisation allows), avfilter (that, filtered by paper 5's
algorithm 1), under (every read keeps what it saw), exact (the engine, under the model).

Meant to be atomic are the user's regions, if the trace has any; else any two consecutive accesses of a thread to a
variable. Where forks and joins leave no other order, a finding says so and comes last. Uses of freed memory and reads
of uninitialised memory are looked for where the trace has allocations. A nondeterministic read that also races is
marked and comes first.

A finding is `predicted` if some run of the program must be able to show it (every read sees what
it saw), and `possible` if that depends on values. Every schedule has been verified before it is shown.
Of many findings the first hundred are told in full, the others in a line each; `--json` and the
files have the schedules of all.

Exit status: 0 nothing found, 1 findings, 2 usage or input error, 3 nothing found, but a budget ran out.";

/// Foretell the bugs of other runs from this one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The trace, in any form and compression; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    #[command(flatten)]
    search: Search,
    /// Print what the method reports, without deciding it: `hb` and `lockset` then read the trace as a stream, in memory
    /// for its objects only. The trace is not checked to be a run that can have happened.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    manner: Manner,
}

impl Predict {
    /// Searches, and reports what was found.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        if self.raw {
            return raw::run(&self.trace, self.search.race_method(), self.search.streams(), self.manner);
        }
        let opened = open(&self.trace, self.manner)?;
        with_room(|| self.predict(&opened))?
    }

    fn predict(&self, opened: &Opened) -> Result<Exit, Diagnostic> {
        let options = self.search.again();
        let reporting =
            Reporting { opened, others: &[], outputs: &self.outputs, manner: self.manner, options: &options };
        let mut predictions = self.search.head(opened)?;
        if let Some(mut streamed) = reporting.stream(&predictions)? {
            self.search.search(opened, self.manner, &mut predictions, &mut |found| streamed.take(found))?;
            return streamed.end(&predictions);
        }
        reporting.deliver(self.search.run(opened, self.manner)?)
    }
}
