//! One state: which classes it is in, and evidence that it can or cannot be reached.

use check::{Model, Question, Refutation};
use decide::{Options, Setup, Verdict};
use pipeline::verify;
use report::{Steps, explain, in_one_sentence, interleaving, wrapped};
use serde::Serialize;
use states::{Class, Exhausted};
use trace::{EventId, Trace};

use super::{Asked, Report, text};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;
use crate::table::name;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// The classes of a state. The contract is docs/json.md.
#[derive(Serialize)]
pub(super) struct Classes {
    state: Vec<u32>,
    consistent: bool,
    feasible: bool,
    strong: bool,
    reachable: bool,
    lock_free: bool,
    greatest_lock_free_below: Vec<u32>,
    refutation: Option<Refutation>,
}

/// How to get to a state, or why not; verified.
pub(super) enum Evidence {
    Schedule(Vec<EventId>),
    Refutation(Refutation),
}

/// A schedule that leads to a state, or a refutation.
pub(super) fn evidence(
    trace: &Trace,
    state: &[u32],
    budget: u64,
) -> Result<Result<Evidence, Exhausted>, Diagnostic> {
    let setup = Setup::new(trace);
    let question = Question::Cut(state.to_vec());
    let options = Options { budget, ..Options::default() };
    let verdict = decide::decide(&setup, &question, Model::Sync, options)
        .map_err(|error| Diagnostic::new(error.to_string()))?;
    Ok(Ok(match verdict {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(&setup, &question, Model::Sync);
            verify::schedule(trace, &question, Model::Sync, &schedule)?;
            Evidence::Schedule(schedule)
        }
        Verdict::Infeasible(refutation) => {
            verify::refutation(trace, &question, Model::Sync, &refutation)?;
            Evidence::Refutation(refutation)
        }
        Verdict::Unknown { budget } => return Ok(Err(Exhausted::Steps(budget))),
    }))
}

impl Asked<'_> {
    /// Tells all about the state a cut names.
    pub(super) fn one(&self, cut: &str) -> Result<Exit, Diagnostic> {
        let state = parse(self.trace, cut)?;
        let evidence = match evidence(self.trace, &state, self.limits.steps)? {
            Ok(evidence) => evidence,
            Err(exhausted) => return self.exhausted(exhausted),
        };
        let mut classes = Classes {
            consistent: self.loset.is_consistent(&state),
            feasible: self.loset.is_feasible(&state),
            strong: self.loset.is_strong(&state),
            reachable: matches!(evidence, Evidence::Schedule(_)),
            lock_free: self.loset.is_lock_free(&state),
            greatest_lock_free_below: self.loset.greatest_lock_free(&state),
            refutation: None,
            state,
        };
        let is_in = classes.has(self.class());
        if self.states.mode.json {
            let mut report = Report { count: Some(u8::from(is_in).to_string()), ..self.report() };
            report.states = Some(if is_in { vec![classes.state.clone()] } else { Vec::new() });
            match evidence {
                Evidence::Schedule(schedule) => report.schedule = Some(schedule),
                Evidence::Refutation(refutation) => classes.refutation = Some(refutation),
            }
            report.cut = Some(classes);
            output::print_json(&report)?;
        } else {
            output::print(&self.tell(&classes, &evidence))?;
        }
        Ok(if is_in { Exit::Findings } else { Exit::Nothing })
    }

    fn tell(&self, classes: &Classes, evidence: &Evidence) -> String {
        let question = Question::Cut(classes.state.clone());
        let verdict = if classes.reachable { "reachable" } else { "unreachable" };
        let mut told = format!("{BOLD}{verdict}{BOLD:#}: {}\n", text::state(self.trace, &classes.state));
        if self.states.mode.quiet {
            return told;
        }
        for class in Class::ALL {
            let answer = if classes.has(class) { "yes" } else { "no" };
            told += &format!("  {:<18} {answer}\n", text::adjective(class));
        }
        let below = text::state(self.trace, &classes.greatest_lock_free_below);
        told += &format!("The greatest lock-free state at or below it: {below}.\n");
        match evidence {
            Evidence::Schedule(schedule) if schedule.is_empty() => {}
            Evidence::Schedule(schedule) => {
                told += &format!("\n{}", interleaving(self.trace, &question, schedule, Steps::Telling));
            }
            Evidence::Refutation(refutation) if self.states.why => {
                told += &format!("\n{}", explain(self.trace, &question, Model::Sync, refutation));
            }
            Evidence::Refutation(refutation) => {
                let why = in_one_sentence(self.trace, &question, Model::Sync, refutation);
                told += &wrapped(&format!("Why: {why}."), 0, 0);
                told += "`--why` shows the steps.\n";
            }
        }
        told
    }
}

impl Classes {
    fn has(&self, class: Class) -> bool {
        match class {
            Class::Consistent => self.consistent,
            Class::Feasible => self.feasible,
            Class::Strong => self.strong,
            Class::Reachable => self.reachable,
            Class::LockFree => self.lock_free,
        }
    }
}

/// The state that `T1=3,T2=5` names. It is within the trace.
fn parse(trace: &Trace, text: &str) -> Result<Vec<u32>, Diagnostic> {
    let threads = &trace.symbols().threads;
    let mut state = vec![None; threads.len()];
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let parsed =
            item.rsplit_once('=').and_then(|(t, count)| Some((t.trim(), count.trim().parse().ok()?)));
        let Some((thread, count)) = parsed else {
            let title = format!("`{}` is not of the form THREAD=COUNT", name(item));
            return Err(Diagnostic::new(title).help("write `--cut T1=3,T2=5`"));
        };
        let Some(index) = threads.find(thread) else {
            let known: Vec<String> = threads.iter().take(10).map(name).collect();
            return Err(Diagnostic::new(format!("the trace has no thread `{}`", name(thread)))
                .note(format!("its threads are {}", known.join(", "))));
        };
        if state[index].replace(count).is_some() {
            return Err(Diagnostic::new(format!("thread `{}` is named twice", name(thread))));
        }
    }
    let state: Vec<u32> = state.into_iter().map(Option::unwrap_or_default).collect();
    let question = Question::Cut(state.clone());
    question.validate(trace).map_err(|error| Diagnostic::new(error.to_string()))?;
    Ok(state)
}
