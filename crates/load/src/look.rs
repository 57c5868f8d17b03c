//! What a log tells of some events, found by their threads and places: how a replay is compared with the recording.

use std::collections::BTreeMap;
use std::io;

use rustc_hash::FxHashMap;
use trace::native::Writer;
use trace::{Kind, ThreadPath};
use wire::{Event, Op as Raw, Reader};

use super::modules::{Frame, Modules, Whose};
use super::rust::Locks;
use super::stacks::{Calls, StackFrame, Stacks};
use super::{LoadError, Recorded};

/// An event that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How many events came before it.
    pub order: u64,
    /// What it is in a trace: a read and the write after it may be one event of the log.
    pub kinds: Vec<Kind>,
    /// Where it is in the source.
    pub location: String,
    /// The bytes it is about, or the address of its lock or the like.
    pub object: Option<(u64, u64)>,
    /// Its call stack, innermost first; empty if that was not asked for.
    pub stack: Vec<StackFrame>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// As they were asked for.
    pub found: Vec<Option<Found>>,
    /// The call stack of each thread at the end.
    pub last: BTreeMap<ThreadPath, Vec<StackFrame>>,
    /// Who holds each lock at the end, by its address.
    pub holders: FxHashMap<u64, Vec<ThreadPath>>,
}

/// Looks for the events at these places of these threads. Those from `with_stacks` on are told with their call stacks: stacks may
/// be deep, and the steps of a schedule many.
pub fn look(
    recorded: Recorded<'_>,
    wanted: &[(ThreadPath, u64)],
    with_stacks: usize,
) -> Result<Looked, LoadError> {
    let mut looking = Looking { with_stacks, ..Looking::new(recorded, wanted)? };
    for (order, event) in Reader::new(recorded.log)?.map_while(Result::ok).enumerate() {
        looking.event(order as u64, &event)?;
    }
    Ok(looking.finish()?)
}

/// A thread on the way.
#[derive(Default)]
struct Thread {
    path: Option<ThreadPath>,
    children: u32,
    /// The functions it is in, as the loader follows them, and their return addresses.
    calls: Calls,
    returns: Vec<u64>,
    last_pc: u64,
    /// What is still to be found, the next at the end: place, and which of those asked for.
    wanted: Vec<(u64, usize)>,
}

struct Looking {
    modules: Modules,
    stacks: Stacks,
    /// The loader finds locations while it writes; here nobody reads what it writes.
    writer: Writer<io::Sink>,
    threads: Vec<Thread>,
    wanted: BTreeMap<ThreadPath, Vec<(u64, usize)>>,
    found: Vec<Option<Found>>,
    with_stacks: usize,
    /// Of each lock, who has taken it and not given it back.
    held: FxHashMap<u64, Vec<u32>>,
    rust: Locks,
}

impl Looking {
    fn new(recorded: Recorded<'_>, asked: &[(ThreadPath, u64)]) -> io::Result<Looking> {
        let mut wanted: BTreeMap<ThreadPath, Vec<(u64, usize)>> = BTreeMap::new();
        for (index, (path, place)) in asked.iter().enumerate() {
            wanted.entry(path.clone()).or_default().push((*place, index));
        }
        for places in wanted.values_mut() {
            places.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut looking = Looking {
            modules: Modules::listed(recorded.modules, recorded.directory),
            stacks: Stacks::new(Vec::new(), Vec::new()),
            writer: Writer::new(io::sink())?,
            threads: Vec::new(),
            wanted,
            found: vec![None; asked.len()],
            with_stacks: 0,
            held: FxHashMap::default(),
            rust: Locks::default(),
        };
        looking.meet(0, Some(ThreadPath::FIRST));
        Ok(looking)
    }

    fn meet(&mut self, number: u32, path: Option<ThreadPath>) {
        if self.threads.len() <= number as usize {
            self.threads.resize_with(number as usize + 1, Thread::default);
        }
        let thread = &mut self.threads[number as usize];
        if thread.path.is_none() {
            thread.wanted = path.as_ref().and_then(|path| self.wanted.remove(path)).unwrap_or_default();
            thread.path = path;
        }
    }

    fn event(&mut self, order: u64, event: &Event<'_>) -> io::Result<()> {
        self.meet(event.thread, None);
        if !self.rust.concerns(event) {
            return self.understood(order, event);
        }
        let calls = self.threads[event.thread as usize].calls.current();
        let role = match event.op {
            Raw::AtomicRead { .. } | Raw::AtomicUpdate { .. } => {
                self.stacks.at(calls, event.pc, &mut self.modules, &mut self.writer)?.role
            }
            _ => None,
        };
        for event in self.rust.understand(event, role).into_iter().flatten() {
            self.understood(order, &event)?;
        }
        Ok(())
    }

    fn understood(&mut self, order: u64, event: &Event<'_>) -> io::Result<()> {
        let thread = &mut self.threads[event.thread as usize];
        match event.op {
            Raw::FunctionEntry { call } => {
                self.stacks.enter(&mut thread.calls, event.pc, call);
                thread.returns.push(call);
            }
            Raw::FunctionExit => {
                thread.calls.exit();
                thread.returns.pop();
            }
            Raw::Create { child } => {
                thread.children += 1;
                let nth = thread.children;
                let path = thread.path.as_ref().map(|path| path.child(nth));
                self.meet(child, path);
            }
            Raw::Acquire { lock, .. } => self.held.entry(lock).or_default().push(event.thread),
            Raw::Release { lock, .. } | Raw::Wait { lock, .. } => self.give_back(lock, event.thread),
            _ => {}
        }
        if event.pc != 0 && !matches!(event.op, Raw::FunctionEntry { .. } | Raw::FunctionExit) {
            self.threads[event.thread as usize].last_pc = event.pc;
        }
        match event.place {
            Some(place) => self.find(order, place, event),
            None => Ok(()),
        }
    }

    fn give_back(&mut self, lock: u64, thread: u32) {
        if let Some(holders) = self.held.get_mut(&lock)
            && let Some(index) = holders.iter().rposition(|&holder| holder == thread)
        {
            holders.remove(index);
        }
    }

    fn find(&mut self, order: u64, place: u64, event: &Event<'_>) -> io::Result<()> {
        while let Some(&(wanted, index)) = self.threads[event.thread as usize].wanted.last()
            && wanted <= place
        {
            let thread = &mut self.threads[event.thread as usize];
            thread.wanted.pop();
            if wanted == place {
                let at =
                    self.stacks.at(thread.calls.current(), event.pc, &mut self.modules, &mut self.writer)?;
                let location = self.stacks.location(at.location).to_owned();
                let stack = match index >= self.with_stacks {
                    true => frames(&mut self.modules, event.pc, &thread.returns),
                    false => Vec::new(),
                };
                let (kinds, object) = kinds_and_object(&event.op);
                self.found[index] = Some(Found { order, kinds, location, object, stack });
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Looked> {
        let path_of = |threads: &[Thread], number: u32| threads[number as usize].path.clone();
        let holders = self.held.iter().map(|(&lock, numbers)| {
            (lock, numbers.iter().filter_map(|&number| path_of(&self.threads, number)).collect())
        });
        let holders = holders.collect();
        let mut last = BTreeMap::new();
        for thread in &self.threads {
            if let Some(path) = &thread.path {
                last.insert(path.clone(), frames(&mut self.modules, thread.last_pc, &thread.returns));
            }
        }
        Ok(Looked { found: self.found, last, holders })
    }
}

/// The stack of what happens at this address in these calls. What starts a program or a thread is left out: it is code
/// without source below all others.
fn frames(modules: &mut Modules, pc: u64, returns: &[u64]) -> Vec<StackFrame> {
    let addresses = [pc].into_iter().filter(|&pc| pc != 0).chain(returns.iter().rev().copied());
    let mut frames: Vec<Frame> = Vec::new();
    for address in addresses {
        frames.extend_from_slice(modules.frames(address.saturating_sub(1)));
    }
    let known = frames.iter().rposition(|frame| frame.whose != Whose::Unknown).map_or(0, |last| last + 1);
    let public = |frame: &Frame| StackFrame {
        function: frame.function.clone().unwrap_or_else(|| "?".to_owned()),
        location: frame.location.clone(),
    };
    frames[..known].iter().map(public).collect()
}

/// What an event of the log becomes in a trace, and what it is about.
fn kinds_and_object(op: &Raw<'_>) -> (Vec<Kind>, Option<(u64, u64)>) {
    let at = |address: u64| Some((address, 1));
    let bytes = |address: u64, length: u64| Some((address, length.max(1)));
    let shared = |hold: wire::Hold, alone: Kind, together: Kind| match hold {
        wire::Hold::Exclusive => alone,
        wire::Hold::Shared => together,
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
        Raw::HappensBefore { .. } => return (vec![Kind::AtomicRead, Kind::AtomicWrite], None),
        Raw::HappensAfter { .. } => (Kind::AtomicRead, None),
        Raw::Mark { .. } => (Kind::Mark, None),
        Raw::RegionBegin { .. } => (Kind::RegionBegin, None),
        Raw::RegionEnd { .. } => (Kind::RegionEnd, None),
        Raw::FunctionEntry { .. }
        | Raw::FunctionExit
        | Raw::Detach { .. }
        | Raw::ThreadName { .. }
        | Raw::Request { .. }
        | Raw::Limited
        | Raw::TryFailed { .. }
        | Raw::Obtained { .. }
        | Raw::Signalled { .. }
        | Raw::TakeFailed { .. }
        | Raw::BarrierInit { .. }
        | Raw::SemaphoreInit { .. }
        | Raw::IgnoreBegin { .. }
        | Raw::IgnoreEnd { .. }
        | Raw::Benign { .. }
        | Raw::Branches { .. }
        | Raw::Zeroed { .. }
        | Raw::Stop(_) => return (Vec::new(), None),
    };
    (vec![kind], object)
}
