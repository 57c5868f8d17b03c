//! Whether a condition possibly or definitely holds, with the schedule that shows it.

use check::{Model, Question};
use pipeline::verify;
use report::{Steps, interleaving};
use states::{Certainty, Definitely, Path, Possibly, Predicate, PredicateError, definitely, possibly};
use trace::EventId;

use super::one::{Evidence, evidence};
use super::{Asked, Report, text};
use crate::diagnostics::{Diagnostic, Excerpt, Place};
use crate::exit::Exit;
use crate::output;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// What came of it: whether it holds, and a schedule to the state that shows it does (possibly) or through states that
/// show it need not (definitely).
struct Answer {
    holds: bool,
    path: Path,
    shown: Option<Shown>,
}

struct Shown {
    state: Vec<u32>,
    schedule: Vec<EventId>,
}

impl Asked<'_> {
    /// Looks for a reachable state in which the condition holds.
    pub(super) fn possibly(&self, expression: &str) -> Result<Exit, Diagnostic> {
        let predicate = self.parsed("--possibly", expression)?;
        let mut bar = self.progress("searching");
        let found = possibly(self.trace, &self.loset, &predicate, self.limits, |at| {
            bar.update(at.looked, Some(at.share));
        });
        bar.finish();
        let (state, path) = match found {
            Ok(Possibly { state: Some(state), path }) => (state, path),
            Ok(Possibly { state: None, path }) => {
                return self.conclude(Answer { holds: false, path, shown: None }, "possibly", expression);
            }
            Err(exhausted) => return self.exhausted(exhausted),
        };
        let schedule = match evidence(self.trace, &state, self.limits.steps)? {
            Ok(Evidence::Schedule(schedule)) => schedule,
            Ok(Evidence::Refutation(_)) => {
                let question = Question::Cut(state);
                let fault = "no schedule leads to it";
                return Err(verify::defect(&question, Model::Sync, "state", fault).into());
            }
            Err(exhausted) => return self.exhausted(exhausted),
        };
        let shown = Some(Shown { state, schedule });
        self.conclude(Answer { holds: true, path, shown }, "possibly", expression)
    }

    /// Looks for a run that avoids all states in which the condition holds.
    pub(super) fn definitely(&self, expression: &str) -> Result<Exit, Diagnostic> {
        let predicate = self.parsed("--definitely", expression)?;
        let mut bar = self.progress("searching");
        let found =
            definitely(self.trace, &self.loset, &predicate, self.limits, |looked| bar.update(looked, None));
        bar.finish();
        let answer = match found {
            Ok(Certainty { answer: Definitely::Holds, path }) => Answer { holds: true, path, shown: None },
            Ok(Certainty { answer: Definitely::Avoided(schedule), path }) => {
                let mut state = vec![0; self.loset.threads()];
                schedule.iter().for_each(|&event| state[self.trace.thread(event).index()] += 1);
                let question = Question::Cut(state.clone());
                verify::schedule(self.trace, &question, Model::Sync, &schedule)?;
                Answer { holds: false, path, shown: Some(Shown { state, schedule }) }
            }
            Err(exhausted) => return self.exhausted(exhausted),
        };
        self.conclude(answer, "definitely", expression)
    }

    fn parsed(&self, option: &str, expression: &str) -> Result<Predicate, Diagnostic> {
        Predicate::parse(expression, self.trace).map_err(|error| mistaken(option, expression, error))
    }

    fn conclude(&self, answer: Answer, how: &str, expression: &str) -> Result<Exit, Diagnostic> {
        let exit = if answer.holds { Exit::Findings } else { Exit::Nothing };
        if self.states.mode.json {
            let path = Some(answer.path.name());
            let mut report = Report { holds: Some(answer.holds), path, ..self.report() };
            if let Some(shown) = answer.shown {
                report.states = Some(vec![shown.state]);
                report.schedule = Some(shown.schedule);
            }
            output::print_json(&report)?;
            return Ok(exit);
        }
        let verdict = match (how, answer.holds) {
            ("possibly", true) => "possible",
            ("possibly", false) => "impossible",
            (_, true) => "certain",
            (_, false) => "not certain",
        };
        let mut told = format!("{BOLD}{verdict}{BOLD:#}: {expression}\n");
        if !self.states.mode.quiet {
            told += &format!("{}\n", way(answer.path));
        }
        if let Some(Shown { state, schedule }) = answer.shown.filter(|_| !self.states.mode.quiet) {
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
    let place = Place {
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
