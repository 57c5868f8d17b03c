//! Whether a predicate holds in some reachable state. Places that its conjuncts about single threads rule out are never
//! visited; of the feasible states left, those that satisfy it are tested for reachability. Before that, what can be decided
//! from the form of the predicate in polynomial time is: all about stable ones, and about conjunctive and linear ones
//! unless locks stand in the way.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use trace::Trace;

use super::Predicate;
use super::path::Path;
use crate::budget::{Exhausted, StateLimits, WalkProgress};
use crate::class::Class;
use crate::loset::Loset;
use crate::reach::Reach;
use crate::rule::Rule;
use crate::walker_pool::walk_rule;

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possibly {
    /// A reachable state in which the predicate holds; `None`: there is none.
    pub state: Option<Vec<u32>>,
    /// How that was found.
    pub path: Path,
}

/// A reachable state in which the predicate holds: where it takes enumeration, the first in lexical order. `progress` is called now and
/// then how far that is.
pub fn possibly(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
    progress: impl FnMut(WalkProgress),
) -> Result<Possibly, Exhausted> {
    possibly_where(trace, loset, predicate, &|_| Ok(true), limits, progress)
}

/// A further demand on a state. The states of the recorded run meet it.
pub type Demand<'d> = dyn Fn(&[u32]) -> Result<bool, Exhausted> + Sync + 'd;

/// The same, of a state that meets a further demand.
pub fn possibly_where(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    demand: &Demand<'_>,
    limits: StateLimits,
    progress: impl FnMut(WalkProgress),
) -> Result<Possibly, Exhausted> {
    let trend = predicate.trend(&predicate.root);
    if trend.is_falling() {
        let start = vec![0; loset.threads()];
        let state = predicate.holds_within(&start, limits.steps)?.then_some(start);
        return Ok(Possibly { state, path: Path::Initial });
    }
    if trend.is_rising() {
        return Ok(Possibly { state: first_recorded(trace, loset, predicate, limits)?, path: Path::Stable });
    }
    let places = predicate.places(loset);
    let by_least = places.path.unwrap_or(Path::Conjunctive);
    // Where no consistent state has what some of the conjuncts ask for, none has what all do.
    let Some(least) = places.least(predicate, loset) else {
        return Ok(Possibly { state: None, path: by_least });
    };
    let mut reach = Reach::new(trace, loset, limits);
    if places.path.is_some()
        && predicate.holds_within(&least, limits.steps)?
        && reach.is_reachable(&least)?
        && demand(&least)?
    {
        return Ok(Possibly { state: Some(least), path: by_least });
    }
    let resting = Mutex::new(vec![reach]);
    let is_reachable = |state: &[u32]| {
        let rested = resting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reach = rested.unwrap_or_else(|| Reach::new(trace, loset, limits));
        let answer = reach.is_reachable(state);
        resting.lock().unwrap_or_else(PoisonError::into_inner).push(reach);
        Ok(answer? && demand(state)?)
    };
    let rule = Rule::within(loset, &places.allowed);
    let state = enumerate(trace, loset, predicate, rule, &is_reachable, limits, progress)?;
    Ok(Possibly { state, path: Path::Enumeration })
}

/// The first state of the recorded run in which a predicate holds that stays true. If it never does, it does in no state: all
/// are below the last one.
fn first_recorded(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
) -> Result<Option<Vec<u32>>, Exhausted> {
    let mut state = vec![0; loset.threads()];
    let mut events = trace.events();
    while !predicate.holds_within(&state, limits.steps)? {
        let Some((_, thread, _)) = events.next() else { return Ok(None) };
        state[thread.index()] += 1;
    }
    Ok(Some(state))
}

/// The first state in lexical order that fits a rule and a predicate and meets a demand.
fn enumerate(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    rule: Rule<'_>,
    demand: &Demand<'_>,
    limits: StateLimits,
    mut progress: impl FnMut(WalkProgress),
) -> Result<Option<Vec<u32>>, Exhausted> {
    let mut found = Ok(None);
    let visit = |Stretch(found): &mut Stretch, state: &[u32]| {
        let fits = match predicate.holds_within(state, limits.steps) {
            Ok(false) => return ControlFlow::Continue(()),
            Ok(true) => demand(state),
            Err(exhausted) => Err(exhausted),
        };
        match fits {
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
