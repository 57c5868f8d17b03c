//! The main loop: saturate, guess, and where neither decides, split into cases.
//!
//! The search is depth first. A contradiction is explained, and its explanation names the decisions it
//! depends on: decisions it does not depend on are left without trying their other case (backjumping),
//! and the explanations of both cases make that of the split. What comes out at the root is the
//! refutation of the question.

use check::Split;
use trace::EventId;

use crate::explain::{Explanation, explain};
use crate::linearise::{Guess, Values};
use crate::state::{Conflict, State};

/// What the search found.
pub(crate) enum Found {
    Schedule(Vec<EventId>),
    Nothing(Explanation),
    /// The budget ran out.
    Unknown,
}

/// A split on the way from the root.
struct Frame<'s> {
    split: Split,
    /// The state before the split.
    state: State<'s>,
    /// Why the first case is impossible, once it is.
    first: Option<Explanation>,
}

/// Decides whether a state can be completed to a schedule. `posed`: whether posing the question
/// met a contradiction already. Counts the cases it goes into.
pub(crate) fn search<'s>(
    state: &mut State<'s>,
    values: &mut Values,
    posed: Result<(), Conflict>,
    cases: &mut u64,
) -> Found {
    let mut frames: Vec<Frame<'s>> = Vec::new();
    let mut outcome = posed;
    loop {
        let conflict = match outcome.and_then(|()| state.saturate()) {
            _ if state.steps > state.budget => return Found::Unknown,
            Err(conflict) => conflict,
            Ok(()) => match state.linearise(values) {
                Guess::Complete(schedule) => return Found::Schedule(schedule),
                Guess::Impossible(conflict) => conflict,
                Guess::Stuck(split) => {
                    *cases += 1;
                    outcome = state.branch(&mut frames, split);
                    continue;
                }
            },
        };
        let explanation = explain(state, &conflict, frames.len() as u32);
        match backtrack(&mut frames, explanation) {
            Ok((mut resumed, split)) => {
                *cases += 1;
                resumed.steps = state.steps;
                outcome = resumed.assume(split, false, frames.len() as u32 - 1);
                *state = resumed;
            }
            Err(explanation) => return Found::Nothing(explanation),
        }
    }
}

impl<'s> State<'s> {
    /// Keeps this state for the second case of a split and takes the first.
    fn branch(&mut self, frames: &mut Vec<Frame<'s>>, split: Split) -> Result<(), Conflict> {
        let level = frames.len() as u32;
        frames.push(Frame { split, state: self.clone(), first: None });
        self.assume(split, true, level)
    }
}

/// The state before the latest split whose second case is still to be tried and matters.
fn backtrack<'s>(
    frames: &mut Vec<Frame<'s>>,
    mut explanation: Explanation,
) -> Result<(State<'s>, Split), Explanation> {
    while let Some(mut frame) = frames.pop() {
        let level = frames.len() as u32;
        if !explanation.levels.contains(&level) {
            continue;
        }
        match frame.first.take() {
            None => {
                let resumed = (frame.state.clone(), frame.split);
                frame.first = Some(explanation);
                frames.push(frame);
                return Ok(resumed);
            }
            Some(first) => {
                explanation = Explanation::of_split(&mut frame.state, frame.split, first, explanation, level);
            }
        }
    }
    Err(explanation)
}
