//! The question, from what the user typed.

use clap::Args;
use pipeline::question::QuestionText;

/// Exactly one question.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Asking {
    /// Can A and B both be next? They are accesses of one variable by different threads.
    #[arg(long, value_name = "A,B")]
    race: Option<String>,
    /// Can these events happen in this order?
    #[arg(long, value_name = "A,B,..")]
    order: Option<String>,
    /// Can each of these be blocked forever by the thread of the next one?
    #[arg(long, value_name = "A,B,..")]
    deadlock: Option<String>,
    /// Can the read R see another write than in the trace? With W: can it see W?
    #[arg(long, value_name = "R[=W]")]
    reads: Option<String>,
    /// Can exactly this many events of each thread have happened? None of the threads not named.
    #[arg(long, value_name = "T1=N,T2=M")]
    cut: Option<String>,
}

impl Asking {
    /// What was typed.
    pub(super) fn text(&self) -> QuestionText<'_> {
        match self {
            Asking { race: Some(race), .. } => QuestionText::Race(race),
            Asking { order: Some(order), .. } => QuestionText::Order(order),
            Asking { deadlock: Some(deadlock), .. } => QuestionText::Deadlock(deadlock),
            Asking { reads: Some(reads), .. } => QuestionText::Reads(reads),
            Asking { cut, .. } => QuestionText::Cut(cut.as_deref().unwrap_or_default()),
        }
    }
}
