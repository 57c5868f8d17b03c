//! Running the real program into a bug that was foretold.
//!
//! A [`Plan`] is a schedule and what it leads to. The runtime inside the program follows it ([`plan`], [`run`]) and tells what it saw
//! at the end of it ([`outcome`]); the log it writes on the way is compared with the schedule, event by event
//! ([`verify`]). Only if both agree is the bug confirmed.

mod outcome;
mod plan;
mod run;
mod tsan;
mod verify;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::mapping::Mapping;
use load::look::{Looked, look};
use load::{LoadError, Recorded};
use outcome::{Look, Outcome};
use plan::Control;
pub use plan::{Expected, Goal, Manner, OnDivergence, Order, Path as ThreadPath, Plan};
pub use run::{Command, End};
pub use tsan::{NoOpinion, Opinion, ThreadSanitizer};
use verify::Verifying;

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program followed the schedule, and what it leads to was seen.
    Confirmed,
    /// The program left the schedule.
    Diverged(Divergence),
    /// The program ended, or its time was over, before the end of the schedule.
    NotReached,
}

/// Where a program left the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// At which step, from 0; past the last: at what the schedule leads to.
    pub step: usize,
    /// Whose step, by the path to it.
    pub thread: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub came: String,
}

/// What was seen of an event that the goal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// The event.
    pub event: Expected,
    /// What memory held there before it.
    pub before: Option<Vec<u8>>,
    /// And after it.
    pub after: Option<Vec<u8>>,
    /// Its call stack, innermost first: `function\tfile:line`.
    pub stack: Vec<String>,
}

/// A thread at the end of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The way to it.
    pub thread: ThreadPath,
    /// `ready`, `running`, `waiting`, `outside` or `finished`.
    pub state: String,
    /// Its call stack, innermost first: `function\tfile:line`.
    pub stack: Vec<String>,
}

/// A replay that was carried out.
#[derive(Debug)]
pub struct Replayed {
    /// What came of it.
    pub verdict: Verdict,
    /// How the program ended.
    pub end: End,
    /// What it printed, on both streams.
    pub output: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
    /// The events that the goal names.
    pub witnessed: Vec<Witnessed>,
    /// The threads at the end of the schedule, or where the program left it.
    pub standing: Vec<Standing>,
    log: Option<(Mapping, String)>,
}

impl Replayed {
    /// What the runtime recorded, to be loaded into a trace; none if the program did not come so far.
    pub fn recorded<'a>(&'a self, directory: &'a Path) -> Option<Recorded<'a>> {
        self.log.as_ref().map(|(log, modules)| Recorded { log, modules, directory })
    }
}

/// What can keep a replay from being carried out.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The program cannot be run.
    #[error("{0}")]
    Run(#[from] io::Error),
    /// What it left cannot be read.
    #[error("{0}")]
    Read(#[from] LoadError),
}

/// How replays are carried out.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How the plan is followed.
    pub manner: Manner,
    /// When to end a program that does not end.
    pub limit: Duration,
    /// What chooses once the schedule has been followed.
    pub seed: u64,
}

impl Settings {
    fn text(&self, goal: &Goal) -> String {
        let mut text = format!("mode=replay\nseed={}\n", self.seed);
        if matches!(goal, Goal::State) {
            // Together in a state, together out of it.
            text.push_str("policy=round-robin\nquantum=1\n");
        }
        text
    }
}

/// Runs the command along the plan.
pub fn replay(plan: &Plan, command: &Command, settings: Settings) -> Result<Replayed, ReplayError> {
    let plan = &*shortened(plan, settings.manner.until);
    let control = Control::new(plan, settings.manner);
    let ran = run::run(command, &control.text(), &settings.text(&plan.goal), settings.limit)?;
    let outcome = Outcome::parse(&ran.outcome());
    let log = ran.log();
    let wanted = wanted(plan, &control, &outcome);
    let looked = match &log {
        Some((log, modules)) => {
            let here = std::env::current_dir().unwrap_or_default();
            let directory = command.directory.as_deref().unwrap_or(&here);
            look(Recorded { log, modules, directory }, &wanted, plan.steps.len())?
        }
        None => Looked { found: vec![None; wanted.len()], ..Looked::default() },
    };
    let verifying = Verifying { plan, control: &control, outcome: &outcome, looked: &looked };
    let verdict = match verifying.divergence() {
        Some(divergence) => Verdict::Diverged(divergence),
        // Those outside of the cycle have not come to an end: they might still end it.
        None if is_open_deadlock(&plan.goal) && ran.end == End::TimedOut => Verdict::NotReached,
        None if outcome.held => Verdict::Confirmed,
        None if verifying.has_happened() && matches!(ran.end, End::Exited(_) | End::Killed(_)) => {
            Verdict::Confirmed
        }
        None => Verdict::NotReached,
    };
    Ok(Replayed {
        verdict,
        end: ran.end,
        output: ran.output(),
        elapsed: ran.elapsed,
        witnessed: witnessed(plan, &control, &outcome, &looked),
        standing: standing(plan, &control, &outcome, &looked),
        log,
    })
}

/// The first steps of a plan, if it is to be followed so far only.
fn shortened(plan: &Plan, until: Option<usize>) -> Cow<'_, Plan> {
    match until {
        Some(steps) if steps < plan.steps.len() => {
            Cow::Owned(Plan { steps: plan.steps[..steps].to_vec(), goal: Goal::State })
        }
        _ => Cow::Borrowed(plan),
    }
}

fn is_open_deadlock(goal: &Goal) -> bool {
    matches!(goal, Goal::Deadlock(_)) && !goal.is_closed()
}

/// Lets the user look at the threads at the hold, in gdb, under these names.
pub fn debug(
    plan: &Plan,
    command: &Command,
    settings: Settings,
    names: &BTreeMap<ThreadPath, String>,
) -> io::Result<()> {
    let plan = &*shortened(plan, settings.manner.until);
    let control = Control::new(plan, settings.manner);
    let text = control.text() + &control.cast.named(names);
    run::debug(command, &text, &settings.text(&plan.goal)).map(|_| ())
}

/// Where the log is looked into: every step, every event that the goal names, and where each thread stood at the end of the
/// schedule. One without a place is not found.
fn wanted(plan: &Plan, control: &Control, outcome: &Outcome) -> Vec<(ThreadPath, u64)> {
    let all = plan.steps.iter().chain(plan.goal.named());
    let events = all.map(|event| (event.thread.clone(), event.place.unwrap_or(u64::MAX)));
    let standing = outcome
        .threads
        .iter()
        .map(|standing| (control.cast.path(standing.thread).cloned().unwrap_or_default(), standing.place));
    events.chain(standing).collect()
}

/// The threads at the end of the schedule.
fn standing(plan: &Plan, control: &Control, outcome: &Outcome, looked: &Looked) -> Vec<Standing> {
    let found = &looked.found[plan.steps.len() + plan.goal.named().len()..];
    let threads = outcome.threads.iter().zip(found).filter_map(|(standing, found)| {
        let thread = control.cast.path(standing.thread)?.clone();
        // What it did next, it did from where it stood.
        let stack = match found {
            Some(found) => Some(found.stack.clone()),
            None => looked.last.get(&thread).cloned(),
        };
        Some(Standing { thread, state: standing.state.clone(), stack: stack.unwrap_or_default() })
    });
    threads.collect()
}

fn witnessed(plan: &Plan, control: &Control, outcome: &Outcome, looked: &Looked) -> Vec<Witnessed> {
    let found = &looked.found[plan.steps.len()..];
    let named = plan.goal.named().into_iter().zip(found);
    let witness = |(event, found): (&Expected, &Option<load::look::Found>)| {
        let thread = control.cast.number(&event.thread);
        let look = event.place.and_then(|place| outcome.look(thread, place));
        let at_the_end = || looked.last.get(&event.thread).cloned();
        let stack = found.as_ref().map(|found| found.stack.clone()).or_else(at_the_end);
        let Look { before, after, .. } = look.cloned().unwrap_or_default();
        Witnessed { event: event.clone(), before, after, stack: stack.unwrap_or_default() }
    };
    named.map(witness).collect()
}

/// A thread by the path to it: `0.2.1`.
pub fn path_name(path: &[u32]) -> String {
    path.iter().fold("0".to_owned(), |name, nth| format!("{name}.{nth}"))
}
