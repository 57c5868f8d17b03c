//! The engine: is there a schedule of the trace that answers a question?
//!
//! The engine is sound and complete for the definitions in [`check::Question`], for any number of threads,
//! within its budget. Every answer carries evidence that [`check`] verifies. It is based on the polygraph of
//! Wang and Hoang (*Precisely Deciding Control State Reachability in Concurrent Traces with Limited
//! Observability*): events are nodes, orders are edges, and some orders are choices between two edges. The
//! paper looks ahead over as many choices as there are threads; the engine searches instead, because the
//! general problem is NP-complete.
//!
//! 1. *Close* (`closure.rs`): collect the events that the question needs, and those they need (`state.rs`).
//! 2. *Saturate* (`rules.rs`): derive orders up to a fixpoint; a cycle refutes the question. Only events for
//!    which a rule may derive something new are visited again (`agenda.rs`).
//! 3. *Guess* (`linearise.rs`): run the needed events greedily in the order of the trace.
//! 4. *Search* (`search.rs`): split on a choice that the guess depended on, explain contradictions
//!    (`explain.rs`), and undo decisions they do not depend on.
//! 5. *Reach* (this file): first do all of this in a window around the question, assuming that everything
//!    before the window happened as recorded. A schedule found this way is final. A contradiction is final
//!    only if it does not rely on that assumption. Otherwise the window grows, up to the whole trace.
//!
//! Cost: a question costs as much as its window. Most events cost constant time. An event that depends on
//! another thread costs about k comparisons for k threads involved. A section or a contended access costs a
//! few binary searches for each thread that uses the same lock or variable, repeated when the event learns of
//! that thread.
//!
#![doc = include_str!("../README.md")]

mod agenda;
mod closure;
mod explain;
mod linearise;
mod permits;
mod progress;
mod read_witnesses;
mod refute;
mod requirements;
mod rules;
mod search;
mod simplify;
mod sources;
mod state;
mod trail;
mod witness;

use check::{End, Model, Question, QuestionError, Refutation, Split, Step};
use order::{MustOrder, ReadOrder};
use trace::EventId;

use crate::linearise::{Guess, Values};
use crate::requirements::{Exemption, Requirements};
use crate::search::Outcome;
use crate::state::{Before, State, Window};
pub use order::Index;
pub use read_witnesses::{Phases, Witnesses};
pub use refute::refute_by_saturation;
pub use simplify::simplify;
pub use sources::other_sources;
pub use witness::Witness;

/// How much work a question may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Steps (events made needed, orders tried, events run in guesses) before giving up.
    pub budget: u64,
    /// How many recorded events before the earliest one named the first window reaches.
    pub reach: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { budget: 200_000_000, reach: 256 }
    }
}

/// The orders that hold in every schedule under a model.
pub fn must_order<'a>(index: &'a Index<'_>, model: Model) -> &'a MustOrder {
    index.must_order(read_order(model))
}

/// Which reads put threads in order under a model. Under `branch` a read is bound only if its thread goes on beyond a branch.
pub fn read_order(model: Model) -> ReadOrder {
    match model {
        Model::ReadsFrom => ReadOrder::ReadsFrom,
        Model::Sync | Model::Branch => ReadOrder::Free,
    }
}

/// The orders that hold in every schedule that leads to a race under a model. They are fewer than [`must_order`] has where memory
/// orders are weak.
pub fn race_order<'a>(index: &'a Index<'_>, model: Model) -> &'a MustOrder {
    match read_order(model) {
        ReadOrder::ReadsFrom if !index.trace().is_sequential() => index.must_order(ReadOrder::Synchronised),
        reads => index.must_order(reads),
    }
}

/// The answer to a question. `R` is the reason for a negative one; `()`: it is not wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<R = Refutation> {
    /// There is a schedule.
    Feasible(Witness),
    /// There is none, and this is why.
    Infeasible(R),
    /// The budget of steps ran out.
    Unknown {
        /// The budget.
        budget: u64,
    },
}

/// Answers a question about a trace.
pub fn decide(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    options: Options,
) -> Result<Verdict, QuestionError> {
    decide_with_effort(index, question, model, options).map(|(verdict, _)| verdict)
}

/// How much search an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many cases were searched in the window that settled it; 0 if orders alone or the first guess did.
    pub cases: u64,
}

/// Answers a question about a trace, and reports the effort.
pub fn decide_with_effort(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    options: Options,
) -> Result<(Verdict, Effort), QuestionError> {
    question.validate(index.trace())?;
    let mut effort = Effort::default();
    if index.bounds().are_reached() {
        return Ok((Verdict::Unknown { budget: options.budget }, effort));
    }
    let verdict = match question {
        Question::Reads(read, None) => any_source(index, *read, model, options, &mut effort),
        Question::Order(_) if model != Model::Sync => {
            certain_first(index, question, model, options, &mut effort)
        }
        Question::Race(..) if question.is_by_memory_order(model) && !index.trace().is_sequential() => {
            followable_first(index, question, model, options, &mut effort)
        }
        _ => reach(
            index,
            &Requirements::new(index, question, model, Exemption::AllNamed),
            options,
            &mut effort,
        ),
    };
    // What is computed when there is no time or memory left may be incomplete.
    let verdict = match index.bounds().are_reached() {
        true => Verdict::Unknown { budget: options.budget },
        false => verdict,
    };
    Ok((verdict, effort))
}

/// A read that sees something else sees one of the other sources.
fn any_source(
    index: &Index<'_>,
    read: EventId,
    model: Model,
    options: Options,
    effort: &mut Effort,
) -> Verdict {
    let mut steps = vec![Step::Split { split: Split::Source(read) }];
    let mut unknown = None;
    for (case, source) in other_sources(index, read).into_iter().enumerate() {
        let question = Question::Reads(read, Some(source));
        let requirements = Requirements::new(index, &question, model, Exemption::AllNamed);
        match reach(index, &requirements, options, effort) {
            Verdict::Infeasible(refutation) => {
                steps.push(Step::Case { case });
                steps.extend(refutation.steps);
            }
            Verdict::Unknown { budget } => unknown = Some(Verdict::Unknown { budget }),
            feasible => return feasible,
        }
    }
    steps.push(Step::End { end: End::EveryCase });
    unknown.unwrap_or(Verdict::Infeasible(Refutation { steps }))
}

/// A schedule in which no thread goes on after a changed read is worth more: it is certain. So named
/// reads that their thread has to go on after are exempted only if there is no answer otherwise.
fn certain_first(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    options: Options,
    effort: &mut Effort,
) -> Verdict {
    let certain = Requirements::new(index, question, model, Exemption::OnlyLast);
    let all = Requirements::new(index, question, model, Exemption::AllNamed);
    if !certain.exempts_as(&all)
        && let feasible @ Verdict::Feasible(_) = reach(index, &certain, options, effort)
    {
        return feasible;
    }
    reach(index, &all, options, effort)
}

/// A schedule in which every read sees what it saw can be followed by a program on any machine. One that memory orders alone allow
/// cannot, so it is looked for only if there is no other.
fn followable_first(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    options: Options,
    effort: &mut Effort,
) -> Verdict {
    let by_order = Requirements::new(index, question, model, Exemption::AllNamed);
    let mut followable = by_order.clone();
    followable.by_memory_order = false;
    match reach(index, &followable, options, effort) {
        feasible @ Verdict::Feasible(_) => feasible,
        _ => reach(index, &by_order, options, effort),
    }
}

/// Decides in a window, and in larger ones until the answer is final.
fn reach(index: &Index<'_>, requirements: &Requirements, options: Options, effort: &mut Effort) -> Verdict {
    let mut spent = 0;
    let mut reach = options.reach;
    let mut values = Values::new(index.trace().symbols().variables.len());
    loop {
        let start = EventId(requirements.earliest.0.saturating_sub(reach));
        let remaining = options.budget.saturating_sub(spent);
        // Small windows are attempts: what they cannot settle soon, a larger one may settle at once.
        let patience = if start.0 == 0 { remaining } else { remaining.min(u64::from(reach) * 1000) };
        let recorded = Window { start, before: Before::Recorded };
        match attempt(index, requirements, recorded, patience, &mut values, &mut spent, effort) {
            _ if index.bounds().are_reached() => return Verdict::Unknown { budget: options.budget },
            Outcome::Schedule(tail) => return Verdict::Feasible(Witness::in_window(start, tail)),
            Outcome::Refuted(why) if !why.recorded => return Verdict::Infeasible(why.into_refutation()),
            Outcome::Unknown if start.0 == 0 => return Verdict::Unknown { budget: options.budget },
            Outcome::Refuted(_) => assert!(start.0 > 0, "nothing is taken as given before the first event"),
            Outcome::Unknown => {}
        }
        let blind = Window { start, before: Before::Unknown };
        if let Outcome::Refuted(why) =
            attempt(index, requirements, blind, patience, &mut values, &mut spent, effort)
            && !index.bounds().are_reached()
        {
            return Verdict::Infeasible(why.into_refutation());
        }
        reach = reach.saturating_mul(8).max(64);
    }
}

/// Decides in one window: the main loop of `search.rs`, after a first guess that often suffices.
fn attempt(
    index: &Index<'_>,
    requirements: &Requirements,
    window: Window,
    patience: u64,
    values: &mut Values,
    spent: &mut u64,
    effort: &mut Effort,
) -> Outcome {
    effort.cases = 0;
    let mut state = State::new(index, requirements, window, patience);
    let mut posed = state.pose().and_then(|()| state.close());
    if posed.is_ok() && window.before == Before::Recorded {
        match state.linearise(values) {
            Guess::Complete(schedule) => return Outcome::Schedule(schedule),
            Guess::Impossible(conflict) => posed = Err(conflict),
            Guess::NeedsSplit(_) => {}
        }
    }
    let found = search::search(&mut state, values, posed, &mut effort.cases);
    *spent += state.steps;
    found
}
