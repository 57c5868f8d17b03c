//! The verdict for a person.

use check::{Model, Question, Refutation};
use report::{Steps, Words, changed_reads, explain, in_one_sentence, interleaving, unordered_reads, wrapped};
use trace::{EventId, Trace};

use crate::table::{counted, number};
use pipeline::answer::Answer;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// The answer to one question, in words.
pub(super) struct AnswerText<'a> {
    pub(super) trace: &'a Trace,
    pub(super) question: &'a Question,
    pub(super) model: Model,
}

impl AnswerText<'_> {
    /// One line that says it all.
    pub(super) fn verdict(&self, answer: &Answer) -> String {
        let words = Words::new(self.trace);
        let model = self.model.name();
        match answer {
            Answer::Feasible { .. } => {
                format!("{BOLD}feasible{BOLD:#} under `{model}`: {}\n", words.possible(self.question))
            }
            Answer::Infeasible(_) => {
                format!("{BOLD}infeasible{BOLD:#} under `{model}`: {}\n", words.impossible(self.question))
            }
            Answer::Unknown { .. } => {
                format!("{BOLD}unknown{BOLD:#} under `{model}`: {}\n", words.whether(self.question))
            }
        }
    }

    pub(super) fn feasible(&self, schedule: &[EventId], guaranteed: bool, steps: Steps) -> String {
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

    pub(super) fn infeasible(&self, refutation: &Refutation) -> String {
        let why = in_one_sentence(self.trace, self.question, self.model, refutation);
        format!("{}`--explain` shows the steps.\n", wrapped(&format!("Why: {why}."), 0, 0))
    }

    pub(super) fn explained(&self, refutation: &Refutation) -> String {
        format!("\n{}", explain(self.trace, self.question, self.model, refutation))
    }

    pub(super) fn stopped(&self, reason: &str) -> String {
        format!("Stopped: {reason}.\n")
    }

    pub(super) fn unknown(&self, budget: u64) -> String {
        let more = number(budget.saturating_mul(10).max(10)).replace(',', "_");
        format!("The budget of {} ran out. Try `--budget {more}`.\n", counted(budget, "step"))
    }
}
