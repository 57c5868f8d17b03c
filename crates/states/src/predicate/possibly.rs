//! Whether a predicate holds in some reachable state. Places that its conjuncts about single threads rule out are never
//! visited; of the feasible states left, those that satisfy it are tested for reachability. A conjunctive predicate
//! is first tried in polynomial time, which settles it unless locks stand in the way.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use trace::Trace;

use super::Predicate;
use crate::budget::{Exhausted, Limits, Progress};
use crate::class::Class;
use crate::crew::walk_rule;
use crate::loset::Loset;
use crate::reach::Reach;
use crate::rule::Rule;

/// The first reachable state in lexical order in which the predicate holds, or for a conjunctive predicate the least one
/// if that is reachable. `progress` is told now and then how far it is.
pub fn possibly(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: Limits,
    mut progress: impl FnMut(Progress),
) -> Result<Option<Vec<u32>>, Exhausted> {
    let mut reach = Reach::new(trace, loset, limits.steps);
    let places = predicate.places(loset);
    let Some(least) = places.least(loset) else { return Ok(None) };
    if places.conjunctive && predicate.holds(&least) && reach.is_reachable(&least)? {
        return Ok(Some(least));
    }
    let resting = Mutex::new(vec![reach]);
    let is_reachable = |state: &[u32]| {
        let rested = resting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reach = rested.unwrap_or_else(|| Reach::new(trace, loset, limits.steps));
        let answer = reach.is_reachable(state);
        resting.lock().unwrap_or_else(PoisonError::into_inner).push(reach);
        answer
    };
    let mut found = Ok(None);
    let visit = |Stretch(found): &mut Stretch, state: &[u32]| {
        if !predicate.holds(state) {
            return ControlFlow::Continue(());
        }
        match is_reachable(state) {
            Ok(false) => return ControlFlow::Continue(()),
            Ok(true) => *found = Ok(Some(state.to_vec())),
            Err(exhausted) => *found = Err(exhausted),
        }
        ControlFlow::Break(())
    };
    let collect = |Stretch(of_stretch): Stretch, at| {
        progress(at);
        found = of_stretch;
        if found == Ok(None) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let rule = Rule::within(loset, &places.allowed);
    let end = walk_rule(rule, trace, loset, Class::Feasible, limits, visit, collect);
    end.and(found)
}

/// What was found in a stretch of the walk.
struct Stretch(Result<Option<Vec<u32>>, Exhausted>);

impl Default for Stretch {
    fn default() -> Self {
        Stretch(Ok(None))
    }
}
