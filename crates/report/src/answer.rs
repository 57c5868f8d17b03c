//! The answer to one question, for a person: the verdict, and its evidence in words.

use check::{Model, Question, Refutation};
use trace::{EventId, Trace};

use crate::evidence::ClaimedVerdict;
use crate::explain::{explain, in_one_sentence};
use crate::figures::{counted, number};
use crate::interleaving::{Steps, interleaving};
use crate::values::{changed_reads, unordered_reads};
use crate::words::Words;
use crate::wrap::wrapped;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// What an answer is about. Its parts have been verified by who has them said.
#[derive(Clone, Copy, Debug)]
pub struct AnswerInWords<'a> {
    /// The trace that was asked about.
    pub trace: &'a Trace,
    /// What was asked.
    pub question: &'a Question,
    /// What reads had to see.
    pub model: Model,
}

impl AnswerInWords<'_> {
    /// One line that says it all.
    pub fn verdict(&self, verdict: ClaimedVerdict) -> String {
        let words = Words::new(self.trace);
        let model = self.model.name();
        match verdict {
            ClaimedVerdict::Feasible => {
                format!("{BOLD}feasible{BOLD:#} under `{model}`: {}\n", words.possible(self.question))
            }
            ClaimedVerdict::Infeasible => {
                format!("{BOLD}infeasible{BOLD:#} under `{model}`: {}\n", words.impossible(self.question))
            }
            ClaimedVerdict::Unknown => {
                format!("{BOLD}unknown{BOLD:#} under `{model}`: {}\n", words.whether(self.question))
            }
        }
    }

    /// The schedule, and whether the program is certain to follow it.
    pub fn feasible(&self, schedule: &[EventId], guaranteed: bool, steps: Steps) -> String {
        if schedule.is_empty() && self.question.named().is_empty() {
            return "Every run starts in this state.\n".to_owned();
        }
        let length = match schedule.len() {
            0 => "The schedule has no steps".to_owned(),
            length => format!("The schedule has {}", counted(length as u64, "step")),
        };
        let table = interleaving(self.trace, self.question, schedule, steps);
        format!("{length}:\n\n{table}\n{}", wrapped(&self.certainty(schedule, guaranteed), 0, 0))
    }

    fn certainty(&self, schedule: &[EventId], guaranteed: bool) -> String {
        let words = Words::new(self.trace);
        let unordered = unordered_reads(self.trace, self.question, schedule);
        if !unordered.is_empty() && self.model == Model::ReadsFrom {
            return "Because of memory orders: the two accesses are unordered in the recorded run itself. No program can follow this schedule, since reads that do not synchronise keep what they saw; a replay follows the recorded order.".to_owned();
        }
        let changed = changed_reads(self.trace, schedule);
        let follows = "Guaranteed: every program with this trace can follow this schedule";
        if !guaranteed {
            let goes_on = changed.iter().find(|changed| changed.goes_on).map(|changed| changed.read);
            let then =
                || changed.iter().map(|changed| changed.read).find(|&read| self.next_after(read).is_some());
            return match goes_on.or_else(then) {
                Some(read) => format!(
                    "Not guaranteed: {} continues after its {}, which sees another value than in the trace, so the program may take another path.",
                    words.thread_of(read),
                    words.own(read)
                ),
                None => "Not guaranteed.".to_owned(),
            };
        }
        if changed.is_empty() {
            return format!("{follows}, because every read sees what it saw in the trace.");
        }
        format!(
            "{follows}, because no thread continues after a read that sees another value than in the trace."
        )
    }

    /// The event that the question says the thread of a read comes to after the schedule.
    fn next_after(&self, read: EventId) -> Option<EventId> {
        let next = match self.question {
            Question::Race(a, b) => vec![*a, *b],
            Question::Deadlock(blocked) => blocked.clone(),
            Question::Order(_) | Question::Reads(..) | Question::Cut(_) => Vec::new(),
        };
        next.into_iter().find(|&event| self.trace.thread(event) == self.trace.thread(read))
    }

    /// Why there is no schedule, in a sentence.
    pub fn infeasible(&self, refutation: &Refutation) -> String {
        let why = in_one_sentence(self.trace, self.question, self.model, refutation);
        format!("{}`--explain` shows the steps.\n", wrapped(&format!("Why: {why}."), 0, 0))
    }

    /// Why there is no schedule, step by step.
    pub fn explained(&self, refutation: &Refutation) -> String {
        format!("\n{}", explain(self.trace, self.question, self.model, refutation))
    }

    /// What to try if this number of steps was not enough.
    pub fn unknown(&self, budget: u64) -> String {
        let more = number(budget.saturating_mul(10).max(10)).replace(',', "_");
        format!("The budget of {} ran out. Try `--budget {more}`.\n", counted(budget, "step"))
    }
}
