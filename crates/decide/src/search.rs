//! The main loop: saturate, guess, and where neither decides, split into cases.
//!
//! The search is depth first. A contradiction is explained, and its explanation names the decisions it
//! depends on. Decisions it does not depend on are undone without trying their other case (backjumping),
//! and the explanations of both cases together explain the split. What is left at the root refutes the question.

use check::Split;
use trace::EventId;

use crate::explain::{Explanation, explain};
use crate::linearise::{Guess, Values};
use crate::state::{Conflict, State};
use crate::trail::Mark;

/// How a search ends.
pub(crate) enum Outcome {
    Schedule(Vec<EventId>),
    Refuted(Explanation),
    /// The budget ran out.
    Unknown,
}

/// A split on the way from the root.
struct Frame {
    split: Split,
    /// The state before the split.
    before: Mark,
    /// Why the first case is impossible, once it is.
    first: Option<Explanation>,
}

/// Decides whether a state can be completed to a schedule. `posed`: whether posing the question
/// already led to a contradiction. Counts the cases it tries.
pub(crate) fn search(
    state: &mut State<'_>,
    values: &mut Values,
    posed: Result<(), Conflict>,
    cases: &mut u64,
) -> Outcome {
    let mut frames: Vec<Frame> = Vec::new();
    let mut outcome = posed;
    loop {
        let conflict = match outcome.and_then(|()| state.saturate()) {
            _ if state.is_over_budget() => return Outcome::Unknown,
            Err(Conflict::OutOfBudget) => return Outcome::Unknown,
            Err(conflict) => conflict,
            Ok(()) => match state.linearise(values) {
                Guess::Complete(schedule) => return Outcome::Schedule(schedule),
                Guess::Impossible(Conflict::OutOfBudget) => return Outcome::Unknown,
                Guess::Impossible(conflict) => conflict,
                Guess::NeedsSplit(split) => {
                    *cases += 1;
                    frames.push(Frame { split, before: state.mark(), first: None });
                    outcome = state.assume(split, true, frames.len() as u32 - 1);
                    continue;
                }
            },
        };
        let explanation = explain(state, &conflict, frames.len() as u32);
        match backtrack(state, &mut frames, explanation) {
            Ok(split) => {
                *cases += 1;
                outcome = state.assume(split, false, frames.len() as u32 - 1);
            }
            Err(explanation) => return Outcome::Refuted(explanation),
        }
    }
}

/// Goes back to the latest split that matters and whose second case is still to be tried.
fn backtrack(
    state: &mut State<'_>,
    frames: &mut Vec<Frame>,
    mut explanation: Explanation,
) -> Result<Split, Explanation> {
    state.forget_work();
    while let Some(Frame { split, before, first }) = frames.pop() {
        let level = frames.len() as u32;
        if !explanation.levels.contains(&level) {
            continue;
        }
        state.undo_to(before);
        match first {
            None => {
                frames.push(Frame { split, before: state.mark(), first: Some(explanation) });
                return Ok(split);
            }
            Some(first) => explanation = Explanation::of_split(state, split, first, explanation, level),
        }
    }
    Err(explanation)
}
