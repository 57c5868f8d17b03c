//! Accesses that repeat what their thread already did: what `--drop-repeated` leaves out (paper 3).
//!
//! An access is repeated if the same thread did the same to the variable, no other thread touched it since, and
//! the thread did nothing in between that can order it with other threads. A race of the second access is a
//! race of the first. Atomicity violations between the two are lost.

use trace::VariableId;

use super::translate::Access;

/// Who touched a variable last, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Touch {
    thread: u32,
    /// From 1, so that nothing matches an untouched variable.
    segment: u64,
    reads: bool,
    writes: bool,
}

/// What each variable was touched by last.
#[derive(Debug, Default)]
pub(super) struct Repetitions {
    by_variable: Vec<Touch>,
    /// Of each thread, how often it did something that can order it with others.
    segments: Vec<u64>,
}

impl Repetitions {
    /// A thread does something that can order it with others.
    pub(super) fn orders(&mut self, thread: u32) {
        *at(&mut self.segments, thread as usize) += 1;
    }

    /// What an access does that was not done before.
    pub(super) fn left_of(&mut self, thread: u32, variable: VariableId, access: Access) -> Option<Access> {
        let segment = *at(&mut self.segments, thread as usize) + 1;
        let last = at(&mut self.by_variable, variable.index());
        if (last.thread, last.segment) != (thread, segment) {
            *last = Touch { thread, segment, reads: false, writes: false };
        }
        let left = match access {
            Access::Read if last.reads || last.writes => None,
            Access::Write | Access::ReadThenWrite if last.writes => None,
            Access::ReadThenWrite if last.reads => Some(Access::Write),
            _ => Some(access),
        };
        last.reads |= matches!(access, Access::Read | Access::ReadThenWrite);
        last.writes |= matches!(access, Access::Write | Access::ReadThenWrite);
        if matches!(access, Access::AtomicRead | Access::AtomicWrite | Access::AtomicUpdate) {
            self.orders(thread);
        }
        left
    }
}

fn at<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}
