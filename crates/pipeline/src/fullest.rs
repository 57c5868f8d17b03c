//! The fullest schedule of a race: the recorded run itself, without one of the accesses and what depends on it.
//!
//! The schedule that an analysis finds has only what the race needs, in an order of its own. A program that depends on more than its threads
//! (numbers of files, the time, how far a loop came elsewhere) may not follow it, but does follow the run that was recorded. So a race whose
//! schedule the program left is tried along this one, too.
//!
//! Sound: the checker has the last word. Not complete: a thread stops at the first event that may depend on what was left out. One pass over
//! the recorded run.

use std::collections::HashMap;

use check::{Model, Question, check_schedule};
use trace::{EventId, LockId, Op, SemaphoreId, ThreadId, Trace};

/// In a longer recording no such schedule is looked for.
const LONGEST: usize = 1_000_000;

/// The schedule, if there is one that leads to both accesses.
pub(crate) fn fullest_schedule(trace: &Trace, question: &Question) -> Option<Vec<EventId>> {
    let &Question::Race(a, b) = question else { return None };
    let (first, second) = (a.min(b), a.max(b));
    if second.index() >= LONGEST {
        return None;
    }
    let mut run = PartialRun::new(trace);
    for event in (0..second.index()).map(EventId::new) {
        if event == first || run.depends_on_dropped(event) {
            run.stop(trace.thread(event));
        }
        run.pass(event);
    }
    let reaches_second = !run.is_stopped(trace.thread(second));
    let is_answer = |schedule: &Vec<EventId>| {
        check_schedule(trace, question, Model::ReadsFrom, schedule)
            .is_ok_and(|certainty| certainty.guaranteed)
    };
    reaches_second.then_some(run.kept).filter(is_answer)
}

/// The recorded run as far as it does not depend on what was left out.
struct PartialRun<'t> {
    trace: &'t Trace,
    kept: Vec<EventId>,
    /// By event.
    is_dropped: Vec<bool>,
    /// By thread.
    has_stopped: Vec<bool>,
    open: HashMap<LockId, Vec<Section>>,
    permits: HashMap<SemaphoreId, i64>,
}

/// A section of a lock that has begun.
#[derive(Clone, Copy)]
struct Section {
    acquire: EventId,
    is_shared: bool,
}

impl<'t> PartialRun<'t> {
    fn new(trace: &'t Trace) -> Self {
        let threads = trace.symbols().threads.len();
        PartialRun {
            trace,
            kept: Vec::new(),
            is_dropped: vec![false; trace.len()],
            has_stopped: vec![false; threads],
            open: HashMap::new(),
            permits: HashMap::new(),
        }
    }

    fn is_stopped(&self, thread: ThreadId) -> bool {
        self.has_stopped[thread.index()]
    }

    fn stop(&mut self, thread: ThreadId) {
        self.has_stopped[thread.index()] = true;
    }

    fn is_missing(&self, event: Option<EventId>) -> bool {
        event.is_some_and(|event| self.is_dropped[event.index()])
    }

    /// Whether the event cannot happen as it did, because something before it does not.
    fn depends_on_dropped(&self, event: EventId) -> bool {
        let trace = self.trace;
        let op = trace.op(event);
        if op.reads().is_some() && self.is_missing(trace.reads_from(event)) {
            return true;
        }
        match op {
            Op::Begin => self.is_missing(trace.fork_of(trace.thread(event))),
            Op::Join(_) | Op::Wait(_) => self.is_missing(trace.link(event).event()),
            Op::BarrierExit(_) => {
                let instance = &trace.matching().barrier_instances()[trace.barrier_instance(event).index()];
                instance.enters.iter().any(|&enter| self.is_missing(Some(enter)))
            }
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let is_shared = matches!(op, Op::AcquireShared(_));
                let sections = self.open.get(&lock).map_or(&[][..], Vec::as_slice);
                sections.iter().any(|section| !(is_shared && section.is_shared))
            }
            Op::Take(semaphore) => self.permits(semaphore) <= 0,
            _ => false,
        }
    }

    /// Keeps the event, or leaves it out if its thread has stopped.
    fn pass(&mut self, event: EventId) {
        let trace = self.trace;
        if self.is_stopped(trace.thread(event)) {
            self.is_dropped[event.index()] = true;
            return;
        }
        self.kept.push(event);
        let op = trace.op(event);
        match op {
            Op::Acquire(lock) | Op::AcquireShared(lock) if !trace.is_nested(event) => {
                let section = Section { acquire: event, is_shared: matches!(op, Op::AcquireShared(_)) };
                self.open.entry(lock).or_default().push(section);
            }
            Op::Release(lock) | Op::ReleaseShared(lock) if !trace.is_nested(event) => {
                let acquire = trace.section_end(event);
                if let Some(sections) = self.open.get_mut(&lock) {
                    sections.retain(|section| Some(section.acquire) != acquire);
                }
            }
            Op::Post(semaphore) => self.add_permits(semaphore, 1),
            Op::Take(semaphore) => self.add_permits(semaphore, -1),
            _ => {}
        }
    }

    fn permits(&self, semaphore: SemaphoreId) -> i64 {
        let initial = || i64::from(self.trace.initial_permits(semaphore));
        self.permits.get(&semaphore).copied().unwrap_or_else(initial)
    }

    fn add_permits(&mut self, semaphore: SemaphoreId, more: i64) {
        let permits = self.permits(semaphore) + more;
        self.permits.insert(semaphore, permits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fullest(text: &str, a: usize, b: usize) -> Option<Vec<usize>> {
        let trace = trace::text::read(text.as_bytes()).unwrap();
        let question = Question::Race(EventId::new(a), EventId::new(b));
        let schedule = fullest_schedule(&trace, &question)?;
        Some(schedule.into_iter().map(|event| event.index()).collect())
    }

    #[test]
    fn what_the_race_does_not_need_is_kept_as_it_was() {
        let text =
            "main|fork(A)|1\nmain|fork(B)|2\nB|w(y)|3\nA|w(x)|4\nB|w(z)|5\nA|w(y)|6\nB|r(z)|7\nB|w(x)|8\n";
        // The write of y by A comes after one of the accesses.
        assert_eq!(fullest(text, 3, 7), Some(vec![0, 1, 2, 4, 6]));
        assert_eq!(fullest(text, 7, 3), Some(vec![0, 1, 2, 4, 6]));
    }

    #[test]
    fn threads_stop_at_what_depends_on_an_access() {
        let text = "main|fork(A)|1\nmain|fork(B)|2\nmain|fork(C)|3\nA|w(x)|4\nA|w(y)|5\nC|r(y)|6\nC|w(z)|7\nB|w(v)|8\nB|r(x)|9\n";
        assert_eq!(fullest(text, 3, 8), Some(vec![0, 1, 2, 7]));
        // B itself reads what A wrote afterwards.
        let text = "main|fork(A)|1\nmain|fork(B)|2\nA|w(x)|3\nA|w(y)|4\nB|r(y)|5\nB|r(x)|6\n";
        assert_eq!(fullest(text, 2, 5), None);
    }

    #[test]
    fn locks_that_are_not_given_back_keep_others_out() {
        let locked = |other: &str| {
            format!(
                "main|fork(A)|1\nmain|fork(B)|2\nA|acq(l)|3\nA|w(x)|4\nA|rel(l)|5\nB|acq({other})|6\nB|rel({other})|7\nB|w(x)|8\n"
            )
        };
        assert_eq!(fullest(&locked("l"), 3, 7), None);
        assert_eq!(fullest(&locked("m"), 3, 7), Some(vec![0, 1, 2, 5, 6]));
    }

    #[test]
    fn permits_and_barriers_need_those_who_give_them() {
        let text = "main|fork(A)|1\nmain|fork(B)|2\nA|w(x)|3\nA|post(s)|4\nB|take(s)|5\nB|w(x)|6\n";
        assert_eq!(fullest(text, 2, 5), None);
        let text = "main|fork(A)|1\nmain|fork(B)|2\nA|w(x)|3\nA|benter(b)|4\nB|benter(b)|5\nA|bexit(b)|6\nB|bexit(b)|7\nB|w(x)|8\n";
        assert_eq!(fullest(text, 2, 7), None);
    }
}
