//! The threads of a run: how each came to be, and what it is called.

use rustc_hash::FxHashMap;
use trace::ThreadId;
use trace::native::ThreadOrigin;
use wire::{Event, Op, PlainAccess};

use super::fibers::Carrier;

/// What is known of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadRecord {
    origin: Option<ThreadOrigin>,
    children: u32,
    /// It is a fiber, the nth.
    fiber: Option<u32>,
    /// What the program calls it.
    name: Option<String>,
    /// Where it may be said to have started: the function it was given, the first ones it entered, where it was created.
    starts: Starts,
}

/// Addresses in the code at which a thread may be said to have started, the best first.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    given: Option<u64>,
    entered: Vec<u64>,
    created: Option<u64>,
}

/// The number of functions between a thread's first instruction and the program's own code, where C++ starts it.
const FIRST_ENTRIES: usize = 32;

impl Starts {
    /// Each of them.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        let entered = self.entered.iter().copied();
        self.given.into_iter().chain(entered).chain(self.created)
    }
}

/// All threads, from the first pass.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<ThreadRecord>,
}

impl Threads {
    /// Takes an event in.
    #[inline]
    pub(super) fn see(&mut self, event: &Event<'_>) {
        if self.threads.len() <= event.thread as usize {
            self.meet(event.thread);
        }
        match event.op {
            Op::Create { child } => {
                self.create(event.thread, child);
                self.threads[child as usize].starts.created = Some(event.pc);
            }
            Op::Begin { .. } if event.pc != 0 => {
                self.threads[event.thread as usize].starts.given = Some(event.pc);
            }
            Op::FunctionEntry { .. } => {
                let entered = &mut self.threads[event.thread as usize].starts.entered;
                if entered.len() < FIRST_ENTRIES {
                    entered.push(event.pc);
                }
            }
            Op::ThreadName { thread, name } => {
                self.meet(thread);
                let name = String::from_utf8_lossy(name).trim().to_owned();
                self.threads[thread as usize].name = Some(name).filter(|name| !name.is_empty());
            }
            Op::Join { child } => self.meet(child),
            _ => {}
        }
    }

    /// Takes a plain access in.
    #[inline]
    pub(super) fn see_access(&mut self, access: &PlainAccess) {
        if self.threads.len() <= access.thread as usize {
            self.meet(access.thread);
        }
    }

    fn meet(&mut self, thread: u32) {
        let count = self.threads.len().max(thread as usize + 1);
        self.threads.resize_with(count, ThreadRecord::default);
        self.threads[0].origin = Some(ThreadOrigin { parent: None, nth: 0 });
    }

    fn create(&mut self, parent: u32, child: u32) {
        self.meet(child);
        let known = &mut self.threads[parent as usize];
        known.children += 1;
        let nth = known.children;
        let child = &mut self.threads[child as usize];
        child.origin = child.origin.or(Some(ThreadOrigin { parent: Some(ThreadId(parent)), nth }));
    }

    /// A thread of the trace is a fiber, the nth. It is found through the thread that carries it; one that several carry is not found.
    pub(super) fn add_fiber(&mut self, number: u32, nth: u32, carrier: Carrier) {
        self.meet(number);
        let origin = match carrier {
            Carrier::One(thread) => self.threads[thread as usize].origin,
            Carrier::Several => None,
        };
        let fiber = &mut self.threads[number as usize];
        (fiber.origin, fiber.fiber) = (origin, Some(nth));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Where a thread may be said to have started.
    pub(super) fn starts(&self, thread: usize) -> Starts {
        self.threads[thread].starts.clone()
    }

    /// How each came to be, where that is known.
    pub(super) fn origins(&self) -> impl Iterator<Item = (ThreadId, ThreadOrigin)> + '_ {
        let known = self.threads.iter().enumerate();
        let origins = known.filter_map(|(index, known)| Some((ThreadId::new(index), known.origin?)));
        origins.filter(|(thread, origin)| origin.parent.is_none_or(|parent| parent < *thread))
    }

    /// A name for each: the program's own if it is the only one of that name, else `main`, `T1`, `T2`, `fiber 1` and so on.
    pub(super) fn names(&self) -> Vec<String> {
        let usual = |index: usize| match self.threads[index].fiber {
            Some(nth) => format!("fiber {nth}"),
            None if index == 0 => "main".to_owned(),
            None => format!("T{index}"),
        };
        let mut wanted: FxHashMap<&str, u32> = FxHashMap::default();
        for name in self.threads.iter().filter_map(|known| known.name.as_deref()) {
            *wanted.entry(name).or_default() += 1;
        }
        let named = self.threads.iter().enumerate().map(|(index, known)| {
            let own = known.name.as_deref().filter(|name| wanted[name] == 1);
            // A name that another thread has by its number is not the program's to give.
            let own = own
                .filter(|name| (0..self.threads.len()).all(|other| other == index || usual(other) != **name));
            own.map_or_else(|| usual(index), str::to_owned)
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_programs_own_where_they_are_distinct() {
        let mut threads = Threads::default();
        let mut see = |thread, op| threads.see(&Event { thread, place: None, pc: 0, op });
        for child in 1..5 {
            see(0, Op::Create { child });
        }
        see(2, Op::Create { child: 5 });
        for (thread, name) in [(1, "pool"), (2, "pool"), (3, "sink"), (4, "T1")] {
            see(0, Op::ThreadName { thread, name: name.as_bytes() });
        }
        assert_eq!(threads.names(), ["main", "T1", "T2", "sink", "T4", "T5"]);
        let origins: Vec<_> = threads.origins().collect();
        assert_eq!(origins[5], (ThreadId(5), ThreadOrigin { parent: Some(ThreadId(2)), nth: 1 }));
        assert_eq!(origins[0].1.parent, None);
    }
}
