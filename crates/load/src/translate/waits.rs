//! What threads wait for when a run ends in a deadlock. It is no event of the trace: nothing happens any more.

use trace::LastWait;
use wire::Stop;

use super::Translator;
use crate::memory::FirstUse;
use crate::sink::Sink;
use crate::stacks::At;

/// What a thread waits for, for as long as it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    what: AwaitedObject,
    first_use: FirstUse,
    at: At,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AwaitedObject {
    Object(u64),
    EndOf(u32),
}

/// The lowest bit of the address of a futex says that it is one: its word is aligned.
const FUTEX: u64 = 1;

impl<S: Sink> Translator<S> {
    /// A thread begins to wait, or goes on. It has done something else than reading: what it reads now is not what it read before.
    pub(super) fn awaits(&mut self, thread: u32, what: Option<AwaitedObject>, first_use: FirstUse, at: At) {
        let state = &mut self.threads[thread as usize];
        state.segment += 1;
        state.awaits = what.map(|what| Awaited { what, first_use, at });
    }

    /// What each thread waits for at the end of a run that is deadlocked.
    pub(super) fn last_waits(&mut self) -> Vec<LastWait> {
        if !S::WANTS_NAMES || self.loaded.stop != Some(Stop::Deadlock) {
            return Vec::new();
        }
        let mut waits = Vec::new();
        for number in 0..self.threads.len() {
            let state = &self.threads[number];
            let Some(Awaited { what, first_use, at }) = state.awaits.filter(|_| !state.over) else {
                continue;
            };
            let (thread, event) = (state.name.clone(), state.last);
            let (object, is_join) = match what {
                AwaitedObject::Object(address) => {
                    (self.objects.memory.name_in(address & !FUTEX, None, first_use, &mut self.output), false)
                }
                AwaitedObject::EndOf(child) => (
                    self.threads.get(child as usize).map(|child| child.name.clone()).unwrap_or_default(),
                    true,
                ),
            };
            let location = self.stacks.location(at.location).unwrap_or_default().to_owned();
            waits.push(LastWait { thread, event, object, is_join, location });
        }
        waits
    }
}
