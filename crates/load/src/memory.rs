//! What lies in memory: the variables of the program, the blocks they are in, and what each is called.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use std::rc::Rc;
use trace::{EPOLL, EVENTFD};
use wire::{Event, Op, Passage};

use super::blocks::{BlockNumber, Placed};
use super::frames::Frames;
use super::heap::Site;
use super::modules::{Frame, Modules};
use super::pool::{PoolAccesses, PoolPart};
use super::sink::Sink;
use super::variables::Variables;

/// Functions of libraries that are passed over to find the user's.
const MOST_CALLS: usize = 32;

/// Whether a function of C++ is a constructor: `Bank::Bank()`.
fn is_constructor(function: &str) -> bool {
    let Some((path, _)) = function.split_once('(') else { return false };
    let last = |path: &str| without_arguments(path).rsplit("::").next().map(str::to_owned);
    let Some((class, own)) = path.rsplit_once("::") else { return false };
    last(class).is_some_and(|class| class == without_arguments(own))
}

/// A name without what is in `<..>`.
fn without_arguments(name: &str) -> String {
    let mut depth = 0usize;
    let outside = |&c: &char| {
        depth += usize::from(c == '<');
        let is_outside = depth == 0;
        depth -= usize::from(c == '>' && depth > 0);
        is_outside
    };
    name.chars().filter(outside).collect()
}

/// How a block came to be.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// From the allocator: its name, and where it was allocated.
    Heap(String, Rc<Site>),
    /// A thread's stack: the thread's number and name.
    Stack(u32, String),
}

/// Who uses an object, and where: what is on a stack is named for the function that touches it first.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstUse {
    pub(super) thread: u32,
    /// Where the code continues after the event.
    pub(super) pc: u64,
    /// What the hook there was called with, which may lie before or behind the object; none: it is not known.
    pub(super) argument: Option<u64>,
}

impl FirstUse {
    /// That by an event.
    pub(super) fn by(event: &Event<'_>) -> FirstUse {
        let argument = match event.op {
            Op::Read { address, .. }
            | Op::Write { address, .. }
            | Op::ReadWrite { address, .. }
            | Op::AtomicRead { address, .. }
            | Op::AtomicWrite { address, .. }
            | Op::AtomicUpdate { address, .. }
            | Op::WriteRange { address, .. } => Some(address),
            Op::Request { lock, .. }
            | Op::Acquire { lock, .. }
            | Op::TryFailed { lock, .. }
            | Op::Release { lock, .. } => Some(lock),
            Op::Wait { condition, .. } | Op::Signal { condition } | Op::Broadcast { condition } => {
                Some(condition)
            }
            Op::BarrierInit { barrier, .. } | Op::BarrierEnter { barrier } => Some(barrier),
            Op::SemaphoreInit { semaphore, .. } | Op::Post { semaphore } | Op::Take { semaphore } => {
                Some(semaphore)
            }
            // What `memcpy` reads is its second argument, and the rest is about no memory.
            _ => None,
        };
        FirstUse { thread: event.thread, pc: event.pc, argument }
    }
}

/// Whether the function that uses an object has its address from its own frame.
fn is_own(first_use: FirstUse, modules: &mut Modules) -> bool {
    first_use.argument.and_then(|argument| modules.frame_base(first_use.pc, argument)).is_some()
}

/// What names come from, and where they go.
pub(super) struct Output<S: Sink> {
    pub(super) modules: Modules,
    pub(super) sink: S,
}

/// The memory of the program so far.
pub(super) struct Memory {
    pub(super) variables: Variables,
    origins: FxHashMap<BlockNumber, Origin>,
    /// What accesses the parts of large blocks.
    pools: FxHashMap<BlockNumber, PoolAccesses>,
    pub(super) frames: Frames,
    /// The names of threads by their thread pointers: variables that each thread has its own of lie below. The memory of a thread that ended
    /// may become another's.
    pub(super) thread_pointers: BTreeMap<u64, String>,
}

impl Memory {
    pub(super) fn new(variables: Variables) -> Memory {
        let (origins, frames, pools) = (FxHashMap::default(), Frames::default(), FxHashMap::default());
        Memory { variables, origins, pools, frames, thread_pointers: BTreeMap::new() }
    }

    /// The number of the block that an address belongs to.
    pub(super) fn block_of(&self, address: u64) -> BlockNumber {
        self.variables.block_at(address).map_or(BlockNumber::NONE, |placed| placed.number)
    }

    /// Notes how a block came to be, and forgets those it took the place of.
    pub(super) fn place(&mut self, placed: Placed, gone: &[Placed], origin: Origin) {
        for block in gone {
            self.origins.remove(&block.number);
            self.pools.remove(&block.number);
        }
        self.origins.insert(placed.number, origin);
    }

    /// Notes what accesses the parts of a block.
    pub(super) fn note_pool(&mut self, block: BlockNumber, accesses: PoolAccesses) {
        self.pools.insert(block, accesses);
    }

    /// The name of a block that was allocated.
    pub(super) fn name_of_block(&self, block: BlockNumber) -> Option<&str> {
        match self.origins.get(&block)? {
            Origin::Heap(name, _) => Some(name),
            Origin::Stack(..) => None,
        }
    }

    /// A name for what lies at an address, if the sink wants names.
    pub(super) fn name_in<S: Sink>(
        &mut self,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> String {
        match S::WANTS_NAMES {
            true => self.name(address, length, first_use, &mut output.modules),
            false => String::new(),
        }
    }

    /// A name for what lies at an address and is so long, if that is known.
    fn name(
        &mut self,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        modules: &mut Modules,
    ) -> String {
        match Passage::of(address) {
            Some(Passage::Team(number)) => return format!("team {}", number / 8),
            Some(Passage::Iteration(number)) => return format!("iteration {number}"),
            Some(Passage::File(number)) => return format!("file descriptor {number}"),
            Some(Passage::Counter(number)) => return format!("{EVENTFD}{number}"),
            Some(Passage::Interest(number)) => return format!("{EPOLL}{number}"),
            _ => {}
        }
        if let Some(name) = self.thread_local(address, length, modules) {
            return name;
        }
        if let Some(placed) = self.variables.block_at(address) {
            let offset = address - placed.start;
            match self.origins.get(&placed.number).cloned() {
                Some(Origin::Heap(name, site)) => {
                    let is_typed = site.holds.as_ref().is_some_and(|holds| !holds.is_bytes(modules));
                    let in_pool = match is_typed {
                        true => None,
                        false => {
                            let part = PoolPart { name: &name, size: placed.length, offset, length };
                            modules.in_pool(part, first_use.pc, self.pools.get_mut(&placed.number))
                        }
                    };
                    return match (in_pool, &site.holds) {
                        (Some(name), _) => name,
                        (None, Some(holds)) => name + &holds.part(modules, offset, length),
                        (None, None) => format!("{name}+{offset}"),
                    };
                }
                Some(Origin::Stack(thread, name)) => {
                    return self.local(thread, address, length, first_use, modules).unwrap_or_else(|| {
                        let below = placed.length - offset;
                        let pc = (first_use.thread == thread).then_some(first_use.pc);
                        let of = pc.and_then(|pc| self.users_call(thread, pc, modules));
                        let is_own = of == Some(first_use.pc) && is_own(first_use, modules);
                        match of.and_then(|call| modules.function(call.saturating_sub(1))) {
                            Some(function) if is_own => {
                                format!("local of {function} in {name} at -{below}")
                            }
                            // It may have the address from who called it.
                            Some(function) => format!("stack used by {function} in {name} at -{below}"),
                            None => format!("stack of {name} at -{below}"),
                        }
                    });
                }
                None => {}
            }
        }
        if let Some(symbol) = modules.data_symbol(address) {
            let offset = address - symbol.address;
            if let Some(part) = modules.part(&symbol, address, length) {
                return symbol.name + &part;
            }
            let whole = offset == 0 && length.is_none_or(|length| length == symbol.size);
            return if whole { symbol.name } else { format!("{}+{offset}", symbol.name) };
        }
        match modules.module_at(address) {
            Some((module, own)) => format!("{module}+{own:#x}"),
            None => format!("{address:#x}"),
        }
    }

    /// The name of a variable that each thread has its own of: `errors of T1`.
    fn thread_local(&self, address: u64, length: Option<u64>, modules: &mut Modules) -> Option<String> {
        let (pointer, thread) = self.thread_pointers.range(address.saturating_add(1)..).next()?;
        Some(format!("{} of {thread}", modules.thread_local(pointer - address, length)?))
    }

    /// The name of a local variable of a thread.
    fn local(
        &mut self,
        owner: u32,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        modules: &mut Modules,
    ) -> Option<String> {
        let own_use = (first_use.thread == owner).then_some(first_use.pc);
        let frames = self.frames.of(owner);
        for (depth, frame) in frames.iter().enumerate().rev() {
            let Some(base) = frame.base else { continue };
            // Where the function is now.
            let pc = frames.get(depth + 1).map(|inner| inner.call).or(own_use).unwrap_or(frame.entry);
            let offset = address.wrapping_sub(base) as i64;
            if let Some(name) = modules.local(pc.saturating_sub(1), offset, length) {
                return Some(name);
            }
        }
        let (pc, frame) = (own_use?, *frames.last()?);
        // A library that has no debug information may be in between.
        let function = modules.function(pc.saturating_sub(1))?;
        if modules.function(frame.entry.saturating_sub(1))? != function {
            return None;
        }
        if let Some(base) = first_use.argument.and_then(|argument| modules.frame_base(pc, argument))
            && let offset = address.wrapping_sub(base) as i64
            && let Some(name) = modules.local(pc.saturating_sub(1), offset, length)
        {
            self.frames.set_base(owner, base);
            return Some(name);
        }
        let by_line = modules.local_by_line(pc.saturating_sub(1), address, length);
        by_line.or_else(|| self.constructed(owner, &function, address, modules))
    }

    /// The local variable that a thread constructs: constructors, and what they call of the library, have its address from the function
    /// that it is a variable of.
    fn constructed(&self, thread: u32, within: &str, address: u64, modules: &mut Modules) -> Option<String> {
        let mut function = within.to_owned();
        let mut constructs = false;
        for frame in self.frames.of(thread).iter().rev().take(MOST_CALLS) {
            constructs |= is_constructor(&function);
            if !is_constructor(&function) && !function.starts_with("std::") {
                return None;
            }
            function = modules.function(frame.call.saturating_sub(1))?;
            if constructs && !is_constructor(&function) {
                return modules.local_passed(frame.call, address);
            }
        }
        None
    }

    /// Where the user's code continues after an event of a thread: there, or after the call of a library that the thread is in.
    fn users_call(&self, thread: u32, pc: u64, modules: &mut Modules) -> Option<u64> {
        let calls = self.frames.of(thread).iter().rev().map(|frame| frame.call);
        let mut all = std::iter::once(pc).chain(calls).take(MOST_CALLS);
        all.find(|call| modules.frames(call.saturating_sub(1)).iter().any(Frame::is_users))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_have_the_name_of_their_class() {
        for constructor in [
            "Bank::Bank()",
            "std::__atomic_base<int>::__atomic_base(int)",
            "std::_Vector_base<A::B, std::allocator<A::B> >::_Vector_impl_data::_Vector_impl_data()",
        ] {
            assert!(is_constructor(constructor), "{constructor}");
        }
        for other in ["main", "Bank::~Bank()", "Bank::open(Bank)", "std::vector<Bank>::push_back(Bank&&)"] {
            assert!(!is_constructor(other), "{other}");
        }
    }
}
