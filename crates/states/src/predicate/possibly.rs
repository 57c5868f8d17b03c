//! Whether a predicate holds in some reachable state. Places that its conjuncts about single threads rule out are never
//! visited; of the feasible states left, those that satisfy it are tested for reachability. A conjunctive predicate
//! is first tried in polynomial time, which settles it unless locks stand in the way.

use std::ops::ControlFlow;

use trace::Trace;

use super::Predicate;
use crate::budget::{Exhausted, Limits};
use crate::loset::Loset;
use crate::reach::Reach;
use crate::walk::walk_within;

/// The first reachable state in lexical order in which the predicate holds, or for a conjunctive predicate the least one
/// if that is reachable. `progress` is told now and then how many states were looked at.
pub fn possibly(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: Limits,
    mut progress: impl FnMut(u64),
) -> Result<Option<Vec<u32>>, Exhausted> {
    let mut reach = Reach::new(trace, loset, limits.steps);
    let places = predicate.places(loset);
    let Some(least) = places.least(loset) else { return Ok(None) };
    if places.conjunctive && predicate.holds(&least) && reach.is_reachable(&least)? {
        return Ok(Some(least));
    }
    let (mut looked, mut found) = (0u64, Ok(None));
    let end = walk_within(trace, loset, &places.allowed, limits, |state| {
        looked += 1;
        if looked.is_multiple_of(1 << 12) {
            progress(looked);
        }
        if !predicate.holds(state) {
            return ControlFlow::Continue(());
        }
        match reach.is_reachable(state) {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => {
                found = Ok(Some(state.to_vec()));
                ControlFlow::Break(())
            }
            Err(exhausted) => {
                found = Err(exhausted);
                ControlFlow::Break(())
            }
        }
    });
    end.and(found)
}
