//! One state: which classes it is in, and evidence that it can or cannot be reached.

use check::{Model, Question};
use pipeline::answer::Answer;
use pipeline::state::{QuestionedState, StateClasses, ask_state};
use report::{Steps, explain, in_one_sentence, interleaving, wrapped};
use states::Class;

use super::{Report, StatesQuery, text};
use crate::diagnostics::Diagnostic;
use crate::exit::Exit;
use crate::output;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

impl StatesQuery<'_> {
    /// Tells all about the state a cut names.
    pub(super) fn one(&self, cut: &str) -> Result<Exit, Diagnostic> {
        let QuestionedState { mut classes, evidence } =
            match ask_state(self.trace, &self.loset, cut, self.limits)? {
                Ok(questioned) => questioned,
                Err(exhausted) => return self.exhausted(exhausted),
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

    fn tell(&self, classes: &StateClasses, evidence: &Answer) -> String {
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
