//! One state: which classes it is in, and evidence that it can or cannot be reached.

use check::{Model, Question, Refutation};
use pipeline::Budget;
use pipeline::answer::{Answer, answer};
use pipeline::question::QuestionText;
use report::{Steps, explain, in_one_sentence, interleaving, wrapped};
use serde::Serialize;
use states::{Class, Exhausted};

use super::{Report, StatesQuery, text};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;

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

impl StatesQuery<'_> {
    /// Tells all about the state a cut names.
    pub(super) fn one(&self, cut: &str) -> Result<Exit, Diagnostic> {
        let question = QuestionText::Cut(cut).parse(self.trace)?;
        let budget = Budget { bounds: self.limits.bounds, steps: self.limits.steps };
        let evidence = match answer(self.trace, &question, Model::Sync, &budget)? {
            Answer::Unknown { bound: Some(_), .. } => return self.exhausted(Exhausted::Bounds),
            Answer::Unknown { budget, bound: None } => return self.exhausted(Exhausted::Steps(budget)),
            evidence => evidence,
        };
        let Question::Cut(state) = question else { unreachable!("a cut is asked about") };
        let mut classes = Classes {
            consistent: self.loset.is_consistent(&state),
            feasible: self.loset.is_feasible(&state),
            strong: self.loset.is_strong(&state),
            reachable: matches!(evidence, Answer::Feasible { .. }),
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
                Answer::Feasible { schedule, .. } => report.schedule = Some(schedule),
                Answer::Infeasible(refutation) => classes.refutation = Some(refutation),
                Answer::Unknown { .. } => {}
            }
            report.cut = Some(classes);
            output::print_json(&report)?;
        } else {
            output::print(&self.tell(&classes, &evidence))?;
        }
        Ok(if is_in { Exit::Findings } else { Exit::Nothing })
    }

    fn tell(&self, classes: &Classes, evidence: &Answer) -> String {
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
            Answer::Feasible { schedule, .. } if schedule.is_empty() => {}
            Answer::Feasible { schedule, .. } => {
                told += &format!("\n{}", interleaving(self.trace, &question, schedule, Steps::Telling));
            }
            Answer::Infeasible(refutation) if self.states.why => {
                told += &format!("\n{}", explain(self.trace, &question, Model::Sync, refutation));
            }
            Answer::Unknown { .. } => {}
            Answer::Infeasible(refutation) => {
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
