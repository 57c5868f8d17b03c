//! What a log tells of some events, found by their threads and places: how a replay is compared with the recording.

use std::collections::BTreeMap;

use rawlog::{Event, Op as Raw, Reader};
use rustc_hash::FxHashMap;
use trace::Kind;

use super::modules::{Frame, Modules, Whose};
use super::{LoadError, Recorded};
use crate::replay::ThreadPath as Path;

/// An event that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// How many events came before it.
    pub(crate) order: u64,
    /// What it is in a trace: a read and the write after it may be one event of the log.
    pub(crate) kinds: Vec<Kind>,
    /// Where it is in the source.
    pub(crate) location: String,
    /// The bytes it is about, or the address of its lock or the like.
    pub(crate) object: Option<(u64, u64)>,
    /// Its call stack, innermost first: `function\tfile:line`.
    pub(crate) stack: Vec<String>,
}

/// A thread at the end of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Last {
    /// Its call stack, innermost first.
    pub(crate) stack: Vec<String>,
    /// Where its last event is.
    pub(crate) location: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    /// As they were asked for.
    pub(crate) found: Vec<Option<Found>>,
    /// Every thread at the end.
    pub(crate) last: BTreeMap<Path, Last>,
    /// Who holds each lock at the end, by its address.
    pub(crate) holders: FxHashMap<u64, Vec<Path>>,
}

/// Looks for the events at these places of these threads.
pub(crate) fn look(recorded: Recorded<'_>, wanted: &[(Path, u64)]) -> Result<Looked, LoadError> {
    let mut looking = Looking::new(recorded, wanted);
    for (order, event) in Reader::new(recorded.log)?.map_while(Result::ok).enumerate() {
        looking.event(order as u64, &event);
    }
    Ok(looking.finish())
}

/// A thread on the way.
#[derive(Default)]
struct Thread {
    path: Option<Path>,
    children: u32,
    /// The return addresses of the functions it is in.
    calls: Vec<u64>,
    last_pc: u64,
    /// What is still to be found, the next at the end: place, and which of those asked for.
    wanted: Vec<(u64, usize)>,
}

struct Looking {
    modules: Modules,
    threads: Vec<Thread>,
    wanted: BTreeMap<Path, Vec<(u64, usize)>>,
    found: Vec<Option<Found>>,
    /// Of each lock, who has taken it and not given it back.
    held: FxHashMap<u64, Vec<u32>>,
}

impl Looking {
    fn new(recorded: Recorded<'_>, asked: &[(Path, u64)]) -> Looking {
        let mut wanted: BTreeMap<Path, Vec<(u64, usize)>> = BTreeMap::new();
        for (index, (path, place)) in asked.iter().enumerate() {
            wanted.entry(path.clone()).or_default().push((*place, index));
        }
        for places in wanted.values_mut() {
            places.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut looking = Looking {
            modules: Modules::listed(recorded.modules, recorded.directory),
            threads: Vec::new(),
            wanted,
            found: vec![None; asked.len()],
            held: FxHashMap::default(),
        };
        looking.meet(0, Some(Path::new()));
        looking
    }

    fn meet(&mut self, number: u32, path: Option<Path>) {
        if self.threads.len() <= number as usize {
            self.threads.resize_with(number as usize + 1, Thread::default);
        }
        let thread = &mut self.threads[number as usize];
        if thread.path.is_none() {
            thread.wanted = path.as_ref().and_then(|path| self.wanted.remove(path)).unwrap_or_default();
            thread.path = path;
        }
    }

    fn event(&mut self, order: u64, event: &Event<'_>) {
        self.meet(event.thread, None);
        let thread = &mut self.threads[event.thread as usize];
        match event.op {
            Raw::FunctionEntry { call } => thread.calls.push(call),
            Raw::FunctionExit => drop(thread.calls.pop()),
            Raw::Create { child } => {
                thread.children += 1;
                let nth = thread.children;
                let path = thread.path.clone().map(|path| [path, vec![nth]].concat());
                self.meet(child, path);
            }
            Raw::Acquire { lock, .. } => self.held.entry(lock).or_default().push(event.thread),
            Raw::Release { lock, .. } | Raw::Wait { lock, .. } => self.give_back(lock, event.thread),
            _ => {}
        }
        if event.pc != 0 && !matches!(event.op, Raw::FunctionEntry { .. } | Raw::FunctionExit) {
            self.threads[event.thread as usize].last_pc = event.pc;
        }
        if let Some(place) = event.place {
            self.find(order, place, event);
        }
    }

    fn give_back(&mut self, lock: u64, thread: u32) {
        if let Some(holders) = self.held.get_mut(&lock)
            && let Some(index) = holders.iter().rposition(|&holder| holder == thread)
        {
            holders.remove(index);
        }
    }

    fn find(&mut self, order: u64, place: u64, event: &Event<'_>) {
        while let Some(&(wanted, index)) = self.threads[event.thread as usize].wanted.last()
            && wanted <= place
        {
            let thread = &mut self.threads[event.thread as usize];
            thread.wanted.pop();
            if wanted == place {
                let (location, stack) = told(&mut self.modules, event.pc, &thread.calls);
                let (kinds, object) = kinds_and_object(&event.op);
                self.found[index] = Some(Found { order, kinds, location, object, stack });
            }
        }
    }

    fn finish(mut self) -> Looked {
        let path_of = |threads: &[Thread], number: u32| threads[number as usize].path.clone();
        let holders = self.held.iter().map(|(&lock, numbers)| {
            (lock, numbers.iter().filter_map(|&number| path_of(&self.threads, number)).collect())
        });
        let holders = holders.collect();
        let mut last = BTreeMap::new();
        for thread in &self.threads {
            if let Some(path) = &thread.path {
                let (location, stack) = told(&mut self.modules, thread.last_pc, &thread.calls);
                last.insert(path.clone(), Last { stack, location });
            }
        }
        Looked { found: self.found, last, holders }
    }
}

/// The location a trace shows for an event at this address in these calls, and its stack.
fn told(modules: &mut Modules, pc: u64, calls: &[u64]) -> (String, Vec<String>) {
    let mut frames: Vec<Frame> = modules.frames(pc.saturating_sub(1)).to_vec();
    for &call in calls.iter().rev() {
        frames.extend_from_slice(modules.frames(call.saturating_sub(1)));
    }
    let users = frames.iter().find(|frame| frame.whose == Whose::Users);
    let location = users.unwrap_or(&frames[0]).location.clone();
    let known = frames.iter().rposition(|frame| frame.whose != Whose::Unknown).map_or(0, |last| last + 1);
    let text = |frame: &Frame| format!("{}\t{}", frame.function.as_deref().unwrap_or("?"), frame.location);
    let skipped = usize::from(pc == 0);
    (location, frames[..known].iter().skip(skipped).map(text).collect())
}

/// What an event of the log becomes in a trace, and what it is about.
fn kinds_and_object(op: &Raw<'_>) -> (Vec<Kind>, Option<(u64, u64)>) {
    let at = |address: u64| Some((address, 1));
    let bytes = |address: u64, length: u64| Some((address, length.max(1)));
    let shared = |hold: rawlog::Hold, alone: Kind, together: Kind| match hold {
        rawlog::Hold::Exclusive => alone,
        rawlog::Hold::Shared => together,
    };
    let (kind, object) = match *op {
        Raw::Read { address, size } => (Kind::Read, bytes(address, size.into())),
        Raw::Write { address, size } => (Kind::Write, bytes(address, size.into())),
        Raw::ReadWrite { address, size } => {
            return (vec![Kind::Read, Kind::Write], bytes(address, size.into()));
        }
        Raw::AtomicRead { address, size } => (Kind::AtomicRead, bytes(address, size.into())),
        Raw::AtomicWrite { address, size } => (Kind::AtomicWrite, bytes(address, size.into())),
        Raw::AtomicUpdate { address, size } => (Kind::AtomicUpdate, bytes(address, size.into())),
        Raw::ReadRange { address, length } => (Kind::Read, bytes(address, length)),
        Raw::WriteRange { address, length } => (Kind::Write, bytes(address, length)),
        Raw::Fence { .. } => (Kind::Fence, None),
        Raw::Create { .. } => (Kind::Fork, None),
        Raw::Begin { .. } => (Kind::Begin, None),
        Raw::End => (Kind::End, None),
        Raw::Join { .. } => (Kind::Join, None),
        Raw::Acquire { lock, hold } => (shared(hold, Kind::Acquire, Kind::AcquireShared), at(lock)),
        Raw::Release { lock, hold } => (shared(hold, Kind::Release, Kind::ReleaseShared), at(lock)),
        // In a trace the lock is given back first, and the wait is told when it is over.
        Raw::Wait { lock, .. } => (Kind::Release, at(lock)),
        Raw::Woken { condition, .. } => (Kind::Wait, at(condition)),
        Raw::Signal { condition } => (Kind::Signal, at(condition)),
        Raw::Broadcast { condition } => (Kind::Broadcast, at(condition)),
        Raw::BarrierEnter { barrier } => (Kind::BarrierEnter, at(barrier)),
        Raw::BarrierExit { barrier } => (Kind::BarrierExit, at(barrier)),
        Raw::Post { semaphore } => (Kind::Post, at(semaphore)),
        Raw::Take { semaphore } => (Kind::Take, at(semaphore)),
        Raw::Allocate { address, .. } => (Kind::Allocate, at(address)),
        Raw::Free { address } => (Kind::Free, at(address)),
        Raw::Mark { .. } => (Kind::Mark, None),
        Raw::RegionBegin { .. } => (Kind::RegionBegin, None),
        Raw::RegionEnd { .. } => (Kind::RegionEnd, None),
        Raw::FunctionEntry { .. }
        | Raw::FunctionExit
        | Raw::Detach { .. }
        | Raw::ThreadName { .. }
        | Raw::Request { .. }
        | Raw::TryFailed { .. }
        | Raw::TakeFailed { .. }
        | Raw::BarrierInit { .. }
        | Raw::SemaphoreInit { .. }
        | Raw::Branches { .. }
        | Raw::Stop(_) => return (Vec::new(), None),
    };
    (vec![kind], object)
}
