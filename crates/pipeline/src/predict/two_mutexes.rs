//! Condition variables that two threads wait for with two mutexes at a time, in a schedule that was not recorded. POSIX forbids it: a condition
//! variable is bound to one mutex until the last wait returns.
//!
//! A wait gives its mutex back, which is the event before it in its thread, and returns with the event `wait`. Two waits overlap if both mutexes
//! are given back before one of them returns: asked as the order of the two releases and that return, from either side. The
//! finding is the moment when both threads wait, as a cut.
//!
//! Promise: sound. Waits that time out have no event, so they are not looked at; nor are more than [`MOST_WAITS`] of a condition variable, or
//! more than [`MOST`] pairs of waits at two places. Cost: a walk over the trace, and the questions.

use check::{Model, Question};
use decide::{Index, Options, Verdict};
use report::Rung;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::{ConditionId, EventId, LocationId, LockId, Misuse, MisuseKind, Op, Trace};

use super::misuse::Case;

/// How many pairs of waits at two places are asked before these are passed over.
const MOST: usize = 16;
/// How many waits for a condition variable are compared with each other.
const MOST_WAITS: usize = 1024;

/// A wait: where its mutex is given back, and where it returns.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    lock: LockId,
    release: EventId,
    returns: EventId,
}

/// The waits for each condition variable that is used with several mutexes.
struct Suspects(FxHashMap<ConditionId, Vec<Waiting>>);

impl Suspects {
    fn of(trace: &Trace) -> Suspects {
        let mut last: FxHashMap<_, EventId> = FxHashMap::default();
        let mut waits: FxHashMap<ConditionId, Vec<Waiting>> = FxHashMap::default();
        for (event, thread, op) in trace.events() {
            let previous = last.insert(thread, event);
            if let (Op::Wait(condition), Some(release)) = (op, previous)
                && let Op::Release(lock) = trace.op(release)
            {
                waits.entry(condition).or_default().push(Waiting { lock, release, returns: event });
            }
        }
        waits.values_mut().for_each(|waits| waits.truncate(MOST_WAITS));
        waits.retain(|_, waits| waits.iter().any(|wait| wait.lock != waits[0].lock));
        Suspects(waits)
    }
}

/// Whether a condition variable is used with several mutexes at all.
pub(super) fn are_possible(trace: &Trace) -> bool {
    !Suspects::of(trace).0.is_empty()
}

/// Finds two waits of each two places that can overlap, unless the recorded run shows it.
pub(super) fn search(index: &Index<'_>, options: Options) -> Vec<Case> {
    let trace = index.trace();
    let mut found = Vec::new();
    // What was left out may have kept them apart.
    let rung = if trace.metadata().dropped == 0 { Rung::Predicted } else { Rung::Possible };
    let Suspects(conditions) = Suspects::of(trace);
    let mut conditions: Vec<(ConditionId, Vec<Waiting>)> = conditions.into_iter().collect();
    conditions.sort_by_key(|(condition, _)| condition.index());
    for (condition, waits) in conditions {
        let object = trace.symbols().condition(condition);
        let is_recorded = |misuse: &Misuse| misuse.what == MisuseKind::TwoMutexes && misuse.object == object;
        if trace.metadata().misuses.iter().any(is_recorded) {
            continue;
        }
        let mut search = Search { index, options, asked: FxHashMap::default(), done: FxHashSet::default() };
        found.extend(search.overlaps(&waits).into_iter().map(|(schedule, first, second)| Case {
            misuse: Misuse {
                what: MisuseKind::TwoMutexes,
                event: second.release.0,
                object: object.to_owned(),
                location: trace.symbols().location(trace.location(second.returns)).to_owned(),
                other: Some(trace.symbols().thread(trace.thread(first.release)).to_owned()),
                earlier: None,
            },
            schedule,
            rung,
        }));
    }
    found
}

/// The places of two waits, whichever is first.
type Places = (LocationId, LocationId);

struct Search<'a, 't> {
    index: &'a Index<'t>,
    options: Options,
    asked: FxHashMap<Places, usize>,
    done: FxHashSet<Places>,
}

impl Search<'_, '_> {
    /// The schedules in which two waits overlap, with the wait that begins first and the other.
    fn overlaps(&mut self, waits: &[Waiting]) -> Vec<(Vec<EventId>, Waiting, Waiting)> {
        let trace = self.index.trace();
        let mut found = Vec::new();
        for (number, &one) in waits.iter().enumerate() {
            for &other in &waits[..number] {
                if one.lock == other.lock || trace.thread(one.release) == trace.thread(other.release) {
                    continue;
                }
                for (first, second) in [(other, one), (one, other)] {
                    if self.index.bounds().are_reached() {
                        return found;
                    }
                    found.extend(self.ask(first, second).map(|schedule| (schedule, first, second)));
                }
            }
        }
        found
    }

    /// A schedule in which the second thread begins to wait while the first one does.
    fn ask(&mut self, first: Waiting, second: Waiting) -> Option<Vec<EventId>> {
        let trace = self.index.trace();
        let (one, other) = (trace.location(first.returns), trace.location(second.returns));
        let places = if one.0 < other.0 { (one, other) } else { (other, one) };
        let asked = self.asked.entry(places).or_default();
        if self.done.contains(&places) || *asked == MOST {
            return None;
        }
        *asked += 1;
        let question = Question::Order(vec![first.release, second.release, first.returns]);
        let Ok(Verdict::Feasible(witness)) =
            decide::decide(self.index, &question, Model::ReadsFrom, self.options)
        else {
            return None;
        };
        self.done.insert(places);
        let mut schedule = witness.schedule(self.index, &question, Model::ReadsFrom);
        let end = schedule.iter().position(|&event| event == second.release)?;
        schedule.truncate(end + 1);
        Some(schedule)
    }
}
