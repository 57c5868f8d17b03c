//! `foretell states`: the global states of a trace, counted, listed, one of them explained, or searched for a
//! condition.

mod condition;
mod list;
mod one;
mod progress;
mod text;

use std::ffi::OsString;

use clap::Args;
use pipeline::state::StateClasses;
use report::SCHEMA;
use serde::Serialize;
use states::{Class, Exhausted, Loset, StateLimits};
use trace::Trace;

use self::progress::StatesProgress;
use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::heartbeat::Heartbeat;
use crate::limits::TimeAndMemory;
use crate::mode::OutputMode;
use crate::open::{Reading, open_as};
use crate::output;
use crate::quantity::quantity;

const EXAMPLES: &str = "\
A state says how many events of each thread have happened. Locks may be taken in
another order than in the trace, and reads may see anything (the model is
`sync`). The classes, each contained in the one before it:

  consistent    contains everything that must happen before its events: forks,
                joins, signals, barriers
  feasible      consistent, and no lock is held twice
  strong        feasible, and the lock orders it implies do not contradict
  reachable     some schedule leads to it (the default)
  lock-free     feasible, and no lock is held

Examples:
  foretell states run.ftr                        how many states are reachable?
  foretell states run.ftr --class consistent     how many, ignoring locks?
  foretell states run.ftr --list --limit 20      the first 20 states
  foretell states run.ftr --cut T1=3,T2=5        which classes is it in?
  foretell states run.ftr --cut T1=3,T2=5 --why  if unreachable: why?
  foretell states run.ftr --possibly 'holds(T1, m) && at(T2, \"a.c:12\")'
  foretell states run.ftr --possibly 'exists t: holds(t, m) && holds(t, n)'
  foretell states run.ftr --definitely 'mark(\"ready\") == 2'

docs/predicates.md describes the conditions.

Exit status: 0 counted or listed, or the state of `--cut` is not in the class,
or the condition does not hold; 1 the state is in the class, or the condition
holds; 2 usage or input error; 3 the budget, the time or the memory ran out.";

/// Count, list or test the global states that the program can reach.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct States {
    /// The trace, in any format; `-` is standard input.
    #[arg(value_name = "T")]
    trace: OsString,
    /// Count the states (the default).
    #[arg(long)]
    count: bool,
    /// List the states in lexical order.
    #[arg(long, conflicts_with = "count")]
    list: bool,
    /// Which states: `consistent`, `feasible`, `strong`, `reachable` or `lock-free`.
    #[arg(long, value_name = "CLASS", value_parser = one_of(&Class::ALL, Class::name), default_value = Class::Reachable.name(), hide_possible_values = true)]
    class: Class,
    /// Test one state: this many events of each thread, none of the threads not named.
    #[arg(long, value_name = "T1=N,T2=M", conflicts_with_all = ["count", "list", "limit"])]
    cut: Option<String>,
    /// Is there a reachable state in which this condition holds?
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["count", "list", "cut", "class", "definitely"])]
    possibly: Option<String>,
    /// Does every run pass through a state in which this condition holds?
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["count", "list", "cut", "class"])]
    definitely: Option<String>,
    /// Explain step by step why the state of `--cut` cannot be reached.
    #[arg(long, requires = "cut")]
    why: bool,
    /// List at most N states.
    #[arg(long, value_name = "N", value_parser = quantity, requires = "list")]
    limit: Option<u64>,
    /// The maximum number of states to visit, and of search steps per state.
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "1G")]
    budget: u64,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    mode: OutputMode,
    #[command(flatten)]
    time_and_memory: TimeAndMemory,
}

/// What was asked, with everything needed to answer.
struct StatesQuery<'a> {
    states: &'a States,
    trace: &'a Trace,
    loset: Loset,
    limits: StateLimits,
}

/// The contract is docs/json.md. Of the parts that go with one way of asking the others are null.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    class: Class,
    threads: Vec<&'a str>,
    count: Option<String>,
    states: Option<Vec<Vec<u32>>>,
    cut: Option<StateClasses>,
    holds: Option<bool>,
    path: Option<&'static str>,
    schedule: Option<Vec<trace::EventId>>,
    exhausted: Option<String>,
}

impl Report<'_> {
    fn empty(class: Class) -> Self {
        Report {
            schema: SCHEMA,
            class,
            threads: Vec::new(),
            count: None,
            states: None,
            cut: None,
            holds: None,
            path: None,
            schedule: None,
            exhausted: None,
        }
    }
}

impl States {
    /// Counts, lists or explains.
    pub fn run(self) -> Result<Exit, Diagnostic> {
        let bounds = self.time_and_memory.start();
        let opened = open_as(&self.trace, self.reading, bounds, self.mode)?;
        let limits = StateLimits { states: self.budget, steps: self.budget, bounds };
        let trace = &opened.trace;
        let mut heartbeat = Heartbeat::new(self.mode);
        heartbeat.begin("finding out what depends on what".to_owned());
        let loset = Loset::within(trace, bounds);
        heartbeat.stop();
        match loset {
            Ok(loset) => StatesQuery { states: &self, trace, loset, limits }.answer(),
            Err(exhausted) => self.exhausted(exhausted),
        }
    }
}

impl States {
    /// There is not even a state to look at.
    fn exhausted(&self, exhausted: Exhausted) -> Result<Exit, Diagnostic> {
        if self.mode.json {
            output::print_json(&Report {
                exhausted: Some(exhausted.to_string()),
                ..Report::empty(self.class)
            })?;
        }
        told_exhausted(exhausted)
    }
}

fn told_exhausted(exhausted: Exhausted) -> Result<Exit, Diagnostic> {
    let more = match exhausted {
        Exhausted::States(_) | Exhausted::Steps(_) | Exhausted::Condition(_) => "use a larger `--budget N`",
        Exhausted::Bounds => "use a larger `--timeout` or `--memory`",
        Exhausted::Memory(_) => "use a larger `--memory`",
    };
    Diagnostic::new(format!("there is no answer: {exhausted}")).help(more).print_warning();
    Ok(Exit::Budget)
}

impl<'a> StatesQuery<'a> {
    fn answer(&self) -> Result<Exit, Diagnostic> {
        match self.states {
            States { cut: Some(cut), .. } => self.one(cut),
            States { possibly: Some(expression), .. } => self.possibly(expression),
            States { definitely: Some(expression), .. } => self.definitely(expression),
            States { list: true, .. } => self.list(),
            _ => self.count(),
        }
    }

    fn class(&self) -> Class {
        self.states.class
    }

    fn report(&self) -> Report<'a> {
        Report { threads: self.trace.symbols().threads.iter().collect(), ..Report::empty(self.states.class) }
    }

    fn count(&self) -> Result<Exit, Diagnostic> {
        let mut bar = self.progress("counting");
        let counted = states::count(self.trace, &self.loset, self.class(), self.limits, |at| {
            bar.update(at);
        });
        bar.finish();
        let count = match counted {
            Ok(count) => count,
            Err(exhausted) => return self.exhausted(exhausted),
        };
        if self.states.mode.json {
            output::print_json(&Report { count: Some(count.to_string()), ..self.report() })?;
        } else {
            output::print(&text::counted(&count.to_string(), self.class()))?;
        }
        Ok(Exit::Nothing)
    }

    fn exhausted(&self, exhausted: Exhausted) -> Result<Exit, Diagnostic> {
        if self.states.mode.json {
            output::print_json(&Report { exhausted: Some(exhausted.to_string()), ..self.report() })?;
        }
        told_exhausted(exhausted)
    }

    fn progress(&self, doing: &str) -> StatesProgress {
        StatesProgress::new(doing, self.states.mode)
    }
}
