//! Fibers that the program keeps apart: each is a thread of the trace, whichever thread of the log carries it.
//!
//! A switch that orders nothing leaves two fibers of one thread unordered, so the order of that thread is not theirs. A thread's own fiber
//! stays that thread; the others get the numbers after all threads, in the order in which they first run. Places are those of the
//! carrier, so what a fiber does is found in a replay as long as one thread carries it.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use wire::{Event, Op, PlainAccess, Reader, Traits};

/// Who carries a fiber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    One(u32),
    Several,
}

/// The fibers at some point of the run.
#[derive(Clone, Debug)]
pub(super) struct Fibers {
    /// What each thread of the log runs, as a thread of the trace.
    running: Vec<u32>,
    /// The fibers that were met, by their handles.
    numbers: FxHashMap<u64, u32>,
    /// Who carries each fiber that is no thread's own.
    carriers: Vec<Carrier>,
}

impl Fibers {
    /// Those of a log that keeps them apart, before its first event.
    pub(super) fn of(log: &Reader<'_>) -> Option<Fibers> {
        if !log.header().traits.include(Traits::FIBERS_APART) {
            return None;
        }
        let mut all = log.clone();
        while let Some(Ok(_)) = all.next_after_accesses(|_| ControlFlow::Continue(())) {}
        Some(Fibers::after(all.threads()))
    }

    /// None yet, in addition to this number of threads.
    fn after(threads: usize) -> Fibers {
        let running = (0..threads as u32).collect();
        Fibers { running, numbers: FxHashMap::default(), carriers: Vec::new() }
    }

    /// An access, as that of a thread of the trace.
    pub(super) fn access(&self, access: PlainAccess) -> PlainAccess {
        PlainAccess { thread: self.running[access.thread as usize], ..access }
    }

    /// An event, as that of a thread of the trace; none: it is a switch.
    pub(super) fn event<'a>(&mut self, event: &Event<'a>) -> Option<Event<'a>> {
        let thread = event.thread as usize;
        match event.op {
            Op::Fiber { from, to } => {
                let before = self.running[thread];
                self.numbers.entry(from).or_insert(before);
                self.running[thread] = self.number(to, event.thread);
                None
            }
            // The thread itself, whatever it runs.
            Op::Begin { .. } | Op::End => Some(*event),
            _ => Some(Event { thread: self.running[thread], ..*event }),
        }
    }

    /// The number of a fiber that a thread is about to carry.
    fn number(&mut self, handle: u64, carrier: u32) -> u32 {
        let threads = self.running.len();
        let next = (threads + self.carriers.len()) as u32;
        let number = *self.numbers.entry(handle).or_insert(next);
        match (number as usize).checked_sub(threads) {
            // A thread's own.
            None => {}
            Some(fiber) if fiber == self.carriers.len() => self.carriers.push(Carrier::One(carrier)),
            Some(fiber) if self.carriers[fiber] == Carrier::One(carrier) => {}
            Some(fiber) => self.carriers[fiber] = Carrier::Several,
        }
        number
    }

    /// The fibers that are no thread's own: the number of each, and who carries it.
    pub(super) fn carried(&self) -> impl Iterator<Item = (u32, Carrier)> + '_ {
        let threads = self.running.len() as u32;
        self.carriers.iter().enumerate().map(move |(index, &carrier)| (threads + index as u32, carrier))
    }
}

/// An event of the log as one of the trace; none: it is a switch between fibers that are kept apart.
#[inline]
pub(super) fn of_trace<'a>(fibers: &mut Option<Fibers>, event: Event<'a>) -> Option<Event<'a>> {
    match fibers {
        Some(fibers) => fibers.event(&event),
        None => Some(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_does_is_of_the_fiber_that_it_runs() {
        let mut fibers = Fibers::after(2);
        let mut number = |thread, op| {
            let event = Event { thread, place: None, pc: 0, op };
            fibers.event(&event).map(|event| event.thread)
        };
        let write = Op::Write { address: 8, size: 4 };
        let switch = |from, to| Op::Fiber { from, to };
        assert_eq!((number(0, write), number(1, write)), (Some(0), Some(1)));
        assert_eq!(number(0, switch(10, 20)), None);
        assert_eq!((number(0, write), number(1, write)), (Some(2), Some(1)));
        assert_eq!(number(0, switch(20, 30)), None);
        assert_eq!(number(0, write), Some(3));
        assert_eq!(number(0, switch(30, 10)), None);
        assert_eq!(number(0, write), Some(0), "its own again");
        assert_eq!(number(1, switch(11, 20)), None);
        assert_eq!(number(1, write), Some(2), "carried by another thread");
        assert_eq!(number(1, Op::End), Some(1));
        let carried: Vec<_> = fibers.carried().collect();
        assert_eq!(carried, [(2, Carrier::Several), (3, Carrier::One(0))]);
    }
}
