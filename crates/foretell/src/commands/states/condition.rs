//! Whether a condition possibly or definitely holds, with the schedule that shows it.

use check::Question;
use pipeline::condition::{ConditionAnswer, Example, Modality, ask_condition};
use report::{Steps, interleaving};
use states::{Path, Predicate, PredicateError};

use super::{Report, StatesQuery, text};
use crate::diagnostics::{Diagnostic, Excerpt, SourcePosition};
use crate::exit::Exit;
use crate::observer::TerminalObserver;
use crate::output;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

impl StatesQuery<'_> {
    /// Looks for a reachable state in which the condition holds.
    pub(super) fn possibly(&self, expression: &str) -> Result<Exit, Diagnostic> {
        self.condition(Modality::Possibly, "--possibly", expression)
    }

    /// Looks for a run that avoids all states in which the condition holds.
    pub(super) fn definitely(&self, expression: &str) -> Result<Exit, Diagnostic> {
        self.condition(Modality::Definitely, "--definitely", expression)
    }

    fn condition(&self, modality: Modality, option: &str, expression: &str) -> Result<Exit, Diagnostic> {
        let predicate = self.parsed(option, expression)?;
        let observer = &mut TerminalObserver::new(self.states.mode);
        match ask_condition(self.trace, &self.loset, modality, &predicate, self.limits, observer)? {
            Ok(answer) => self.conclude(answer, modality, expression),
            Err(exhausted) => self.exhausted(exhausted),
        }
    }

    fn parsed(&self, option: &str, expression: &str) -> Result<Predicate, Diagnostic> {
        Predicate::parse(expression, self.trace).map_err(|error| mistaken(option, expression, error))
    }

    fn conclude(
        &self,
        answer: ConditionAnswer,
        modality: Modality,
        expression: &str,
    ) -> Result<Exit, Diagnostic> {
        let exit = if answer.holds { Exit::Findings } else { Exit::Nothing };
        if self.states.mode.json {
            let path = Some(answer.path.name());
            let mut report = Report { holds: Some(answer.holds), path, ..self.report() };
            if let Some(example) = answer.example {
                report.states = Some(vec![example.state]);
                report.schedule = Some(example.schedule);
            }
            output::print_json(&report)?;
            return Ok(exit);
        }
        let verdict = match (modality, answer.holds) {
            (Modality::Possibly, true) => "possible",
            (Modality::Possibly, false) => "impossible",
            (Modality::Definitely, true) => "certain",
            (Modality::Definitely, false) => "not certain",
        };
        let mut told = format!("{BOLD}{verdict}{BOLD:#}: {expression}\n");
        if !self.states.mode.quiet {
            told += &format!("{}\n", way(answer.path));
        }
        if let Some(Example { state, schedule }) = answer.example.filter(|_| !self.states.mode.quiet) {
            let at = text::state(self.trace, &state);
            told += &match answer.holds {
                true => format!("It holds at {at}.\n"),
                false => format!("It does not hold in any state on this run to {at}.\n"),
            };
            let question = Question::Cut(state);
            if !schedule.is_empty() {
                told += &format!("\n{}", interleaving(self.trace, &question, &schedule, Steps::Telling));
            }
        }
        output::print(&told)?;
        Ok(exit)
    }
}

/// How an answer was come by.
fn way(path: Path) -> &'static str {
    match path {
        Path::Initial => "The initial state decides.",
        Path::Stable => "Once true, it stays true, so the end of the recorded run decides.",
        Path::Conjunctive => "Each part is about one thread, so the smallest state that fits decides.",
        Path::Linear => "Each part says which thread must continue, so the smallest state that fits decides.",
        Path::Enumeration => "States were enumerated one by one.",
    }
}

/// A mistake in a condition, pointed at.
fn mistaken(option: &str, expression: &str, error: PredicateError) -> Diagnostic {
    // A line each: what is pointed at must be on the line shown.
    let start = expression[..error.span.start.min(expression.len())].rfind('\n').map_or(0, |at| at + 1);
    let line = expression[..start].matches('\n').count() + 1;
    let text = expression[start..].lines().next().unwrap_or_default().to_owned();
    let mut span = error.span.start - start..(error.span.end - start).min(text.len());
    if span.is_empty() {
        // The end has no character of its own.
        span.start = span.start.min(text.len().saturating_sub(1));
        span.end = span.start + usize::from(!text.is_empty());
    }
    let place = SourcePosition {
        file: option.to_owned(),
        line: Some(line),
        excerpt: Some(Excerpt { text, span, label: String::new() }),
    };
    let diagnostic = Diagnostic::new(error.message).at(place);
    match error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
