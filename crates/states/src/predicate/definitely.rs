//! Whether every run passes through a state in which a predicate holds (Cooper and Marzullo; paper 2's reference 6).
//!
//! A run goes on until nothing can happen any more: to the end of the trace, or into a deadlock. The predicate does not
//! definitely hold if some run avoids it, so runs through states without it are followed, depth first, each
//! state once. That takes memory for the states seen; the budget bounds it.

use rustc_hash::FxHashSet;
use trace::{EventId, ThreadEvents, ThreadId, Trace};

use super::Predicate;
use super::path::Path;
use crate::budget::{Exhausted, StateLimits};
use crate::loset::Loset;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definitely {
    /// Every run passes through such a state.
    Holds,
    /// This run, which cannot be continued, does not.
    Avoided(Vec<EventId>),
}

/// The answer, and how it was come by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certainty {
    /// Whether it is certain.
    pub answer: Definitely,
    /// How that was found.
    pub path: Path,
}

/// More states than this are not remembered, whatever the budget.
const MOST_REMEMBERED: u64 = 30_000_000;

/// Whether every run passes through a state in which the predicate holds.
pub fn definitely(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
    progress: impl FnMut(u64),
) -> Result<Certainty, Exhausted> {
    if predicate.holds_within(&vec![0; loset.threads()], limits.steps)? {
        return Ok(Certainty { answer: Definitely::Holds, path: Path::Initial });
    }
    if predicate.trend(&predicate.root).is_rising() {
        // If it does not hold at the end of the recorded run it held nowhere on it. If it does, it holds at the end of every
        // run that gets there, and all do where no thread waits for ever.
        if !predicate.holds_within(loset.lengths(), limits.steps)? {
            let recorded = trace.events().map(|(event, ..)| event).collect();
            return Ok(Certainty { answer: Definitely::Avoided(recorded), path: Path::Stable });
        }
        if loset.held.width() == 0 && loset.permits.is_empty() {
            return Ok(Certainty { answer: Definitely::Holds, path: Path::Stable });
        }
    }
    let answer = follow_runs(trace, loset, predicate, limits, progress)?;
    Ok(Certainty { answer, path: Path::Enumeration })
}

/// Looks for a run through states without the predicate; it does not hold in the initial one.
fn follow_runs(
    trace: &Trace,
    loset: &Loset,
    predicate: &Predicate,
    limits: StateLimits,
    mut progress: impl FnMut(u64),
) -> Result<Definitely, Exhausted> {
    let threads = ThreadEvents::of(trace);
    let most = limits.states.min(MOST_REMEMBERED);
    let mut state = vec![0; loset.threads()];
    let mut seen: FxHashSet<Box<[u32]>> = FxHashSet::default();
    // The run so far, by thread, with the next thread to try at each of its states and whether any could go on.
    let mut run: Vec<usize> = Vec::new();
    let mut tries = vec![Tries::default()];
    while let Some(current) = tries.last_mut() {
        let thread = current.next;
        if thread == state.len() {
            if !current.went_on {
                return Ok(Definitely::Avoided(events(&threads, &run)));
            }
            tries.pop();
            if let Some(thread) = run.pop() {
                state[thread] -= 1;
            }
            continue;
        }
        limits.check()?;
        current.next += 1;
        if state[thread] == loset.lengths[thread] {
            continue;
        }
        state[thread] += 1;
        let feasible = loset.is_feasible(&state);
        current.went_on |= feasible;
        let holds = feasible && predicate.holds_within(&state, limits.steps)?;
        if feasible && !holds && seen.insert(state.as_slice().into()) {
            let looked = seen.len() as u64;
            if looked > most {
                return Err(Exhausted::States(most));
            }
            if looked.is_multiple_of(1 << 12) {
                progress(looked);
            }
            run.push(thread);
            tries.push(Tries::default());
        } else {
            state[thread] -= 1;
        }
    }
    Ok(Definitely::Holds)
}

#[derive(Clone, Copy, Default)]
struct Tries {
    next: usize,
    went_on: bool,
}

fn events(threads: &ThreadEvents, run: &[usize]) -> Vec<EventId> {
    let mut done = vec![0; threads.threads()];
    let step = |&thread: &usize| {
        done[thread] += 1;
        threads.of_thread(ThreadId::new(thread))[done[thread] - 1]
    };
    run.iter().map(step).collect()
}
