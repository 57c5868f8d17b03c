//! Whether a run that did not end has come to a standstill: every thread waits for something that does not come, or reads the same
//! variables again and again while nobody writes.
//!
//! What a thread does next depends on what it reads, so nothing can change any more, unless it counts its rounds or looks at a clock. That is
//! a guess, which many rounds make a good one. A program that handles signals may wait for one: nothing is said of it.

use rustc_hash::FxHashMap;
use wire::{Event, Op, Passage, Reader};

use crate::LoadError;

/// This number of reads in a row, by all threads together.
const MANY: u64 = 20_000;
/// At least this number of them by each thread that does not wait.
const SOME: u64 = 100;
/// They are of no more places in memory than this.
const PLACES: usize = 64;

/// What a thread does.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    /// It waits for as long as it takes.
    waits: bool,
    /// Its reads since anyone did something else.
    reads: u64,
    /// The ends of its stack, which is its own: what it does there depends on what it reads elsewhere.
    stack: (u64, u64),
}

/// A run on its way to a standstill.
#[derive(Debug, Default)]
pub(crate) struct Stillness {
    /// The threads that have not ended.
    threads: FxHashMap<u32, Activity>,
    reads: u64,
    places: Vec<u64>,
    handles_signals: bool,
}

impl Stillness {
    /// A run before its first event.
    pub(crate) fn new() -> Stillness {
        Stillness { threads: [(0, Activity::default())].into_iter().collect(), ..Stillness::default() }
    }

    /// The next event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        if self.is_on_own_stack(event) {
            return;
        }
        match event.op {
            Op::Begin { stack_low, stack_high, .. } => {
                self.move_on();
                self.thread(event.thread).stack = (stack_low, stack_high);
            }
            Op::Read { address, .. }
            | Op::AtomicRead { address, .. }
            | Op::TryFailed { lock: address, .. }
            | Op::TakeFailed { semaphore: address } => self.read(event.thread, address),
            Op::Awaits { object } => self.thread(event.thread).waits = object.is_some(),
            Op::AwaitsEnd { .. } => self.thread(event.thread).waits = true,
            Op::FunctionEntry { .. }
            | Op::FunctionExit
            | Op::Order { .. }
            | Op::Fence { .. }
            | Op::Branches { .. }
            | Op::Limited
            | Op::Stop(_) => {}
            Op::Create { child } => {
                self.move_on();
                self.threads.insert(child, Activity::default());
            }
            Op::End => {
                self.move_on();
                self.threads.remove(&event.thread);
            }
            Op::HappensBefore { object } if is_signal(object) => {
                self.handles_signals = true;
                self.move_on();
            }
            _ => self.move_on(),
        }
    }

    /// Whether it is an access of a thread to its own stack. Unoptimised code keeps there what it has just read.
    fn is_on_own_stack(&self, event: &Event<'_>) -> bool {
        let address = match event.op {
            Op::Read { address, .. }
            | Op::Write { address, .. }
            | Op::ReadWrite { address, .. }
            | Op::ReadRange { address, .. }
            | Op::WriteRange { address, .. } => address,
            _ => return false,
        };
        let stack = self.threads.get(&event.thread).map_or((0, 0), |thread| thread.stack);
        (stack.0..stack.1).contains(&address)
    }

    fn thread(&mut self, thread: u32) -> &mut Activity {
        self.threads.entry(thread).or_default()
    }

    fn read(&mut self, thread: u32, address: u64) {
        if !self.places.contains(&address) {
            if self.places.len() == PLACES {
                self.move_on();
            }
            self.places.push(address);
        }
        self.reads += 1;
        let thread = self.thread(thread);
        (thread.waits, thread.reads) = (false, thread.reads + 1);
    }

    /// Something changed.
    fn move_on(&mut self) {
        if self.reads > 0 {
            self.reads = 0;
            self.places.clear();
            self.threads.values_mut().for_each(|thread| thread.reads = 0);
        }
    }

    /// Whether nobody gets anywhere.
    pub(crate) fn is_standstill(&self) -> bool {
        let is_still = |thread: &Activity| thread.waits || thread.reads >= SOME;
        self.reads >= MANY && !self.handles_signals && self.threads.values().all(is_still)
    }
}

/// Whether it is about a signal that a thread may wait for.
fn is_signal(object: u64) -> bool {
    matches!(Passage::of(object), Some(Passage::Signal(signal, wire::SignalTarget::Anyone)) if signal.may_be_waited_for())
}

/// Whether a log ends in a standstill.
pub fn ends_in_standstill(log: &[u8]) -> Result<bool, LoadError> {
    let mut stillness = Stillness::new();
    Reader::new(log)?.map_while(Result::ok).for_each(|event| stillness.see(&event));
    Ok(stillness.is_standstill())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(thread: u32, op: Op<'static>) -> Event<'static> {
        Event { thread, place: Some(0), pc: 0, op }
    }

    fn read(thread: u32, address: u64) -> Event<'static> {
        event(thread, Op::AtomicRead { address, size: 4 })
    }

    /// Two threads; the first spins.
    fn spinning() -> Stillness {
        let mut run = Stillness::new();
        run.see(&event(0, Op::Create { child: 1 }));
        (0..MANY).for_each(|_| run.see(&read(0, 8)));
        run
    }

    #[test]
    fn it_takes_all_threads() {
        let mut run = spinning();
        assert!(!run.is_standstill(), "the other may do anything");
        run.see(&event(1, Op::Awaits { object: Some(16) }));
        assert!(run.is_standstill());
        run.see(&event(1, Op::Awaits { object: None }));
        assert!(!run.is_standstill());
        (0..SOME).for_each(|_| run.see(&read(1, 16)));
        assert!(run.is_standstill(), "both spin");
    }

    #[test]
    fn what_changes_something_starts_anew() {
        let changes = [
            Op::AtomicWrite { address: 8, size: 4 },
            Op::AtomicUpdate { address: 8, size: 4 },
            Op::Write { address: 8, size: 4 },
            Op::End,
        ];
        for op in changes {
            let mut run = spinning();
            run.see(&event(1, op));
            assert!(!run.is_standstill(), "{op:?}");
        }
        let mut run = spinning();
        run.see(&event(1, Op::AwaitsEnd { child: 0 }));
        assert!(run.is_standstill());
        (0..=PLACES as u64).for_each(|place| run.see(&read(0, 1000 + 8 * place)));
        assert!(!run.is_standstill(), "it reads its way through memory");
    }

    #[test]
    fn what_a_thread_keeps_on_its_stack_is_its_own() {
        let stack = |thread| {
            event(
                thread,
                Op::Begin { stack_low: 0x1000, stack_high: 0x2000, kernel_id: 1, thread_pointer: 0 },
            )
        };
        let kept = Op::Write { address: 0x1800, size: 8 };
        for (writer, is_still) in [(0, true), (1, false)] {
            let mut run = Stillness::new();
            run.see(&stack(0));
            (0..MANY).for_each(|_| {
                run.see(&read(0, 8));
                run.see(&event(writer, kept));
            });
            assert_eq!(run.is_standstill(), is_still);
        }
    }

    #[test]
    fn a_signal_may_be_waited_for() {
        let mut run = Stillness::new();
        let handles = |signal| {
            let object = Passage::Signal(wire::Signal(signal), wire::SignalTarget::Anyone).object();
            event(0, Op::HappensBefore { object })
        };
        // Every Rust program handles what an overflow of its stack causes.
        run.see(&handles(11));
        (0..MANY).for_each(|_| run.see(&read(0, 8)));
        assert!(run.is_standstill());
        run.see(&handles(15));
        (0..MANY).for_each(|_| run.see(&read(0, 8)));
        assert!(!run.is_standstill());
    }
}
