//! Refutes a question by saturation alone: the closure and the rules up to their fixpoint. There is no guess
//! and no search, so a question that is not refuted may still be infeasible.
//!
//! A refutation is sound under every model. With model `sync` this decides the same as the universal causality
//! graph of Kahlon and Wang (paper 1, section 3.4: their rules are equivalent to rule 1).
//!
//! A guess still comes first: saturation cannot refute a question that the guess answers, and the guess is
//! much cheaper.
//!
//! Cost: one saturation of the whole closure, unless a window around the question already has a contradiction.

use check::{Model, Question, QuestionError, Refutation};
use trace::EventId;

use crate::Index;
use crate::explain::explain;
use crate::linearise::{Guess, Values};
use crate::requirements::{Exemption, Requirements};
use crate::state::{Before, State, Window};

/// How many recorded events before the question the first window reaches.
const REACH: u32 = 256;

/// The contradiction that saturation leads to, if it does. `Question::Reads` must name its source.
pub fn refute_by_saturation(
    index: &Index<'_>,
    question: &Question,
    model: Model,
) -> Result<Option<Refutation>, QuestionError> {
    question.validate(index.trace())?;
    let requirements = Requirements::new(index, question, model, Exemption::AllNamed);
    if is_guessed(index, &requirements) {
        return Ok(None);
    }
    let mut reach = REACH;
    loop {
        let start = EventId(requirements.earliest.0.saturating_sub(reach));
        let mut state = State::new(index, &requirements, Window { start, before: Before::Unknown }, u64::MAX);
        let posed = state.pose();
        let contradiction = posed.and_then(|()| state.saturate());
        if index.bounds().are_reached() {
            return Ok(None);
        }
        if let Err(conflict) = contradiction {
            return Ok(Some(explain(&mut state, &conflict, 0).into_refutation()));
        }
        if start.0 == 0 {
            return Ok(None);
        }
        reach = reach.saturating_mul(8);
    }
}

/// Whether a first guess answers the question.
fn is_guessed(index: &Index<'_>, requirements: &Requirements) -> bool {
    let start = EventId(requirements.earliest.0.saturating_sub(REACH));
    let mut state = State::new(index, requirements, Window { start, before: Before::Recorded }, u64::MAX);
    let mut values = Values::new(index.trace().symbols().variables.len());
    state.pose().is_ok() && matches!(state.linearise(&mut values), Guess::Complete(_))
}
