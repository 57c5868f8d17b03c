//! The objects of a trace: what lies where, under which name and number.

use std::io;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use trace::native::Table;
use trace::{BarrierId, BlockId, ConditionId, LockId, SemaphoreId, VariableId};
use wire::{Hold, Passage, Signal};

use super::blocks::{BlockNumber, Placed};
use super::frames::Frames;
use super::heap::Site;
use super::modules::Modules;
use super::naming::Names;
use super::published::{Order, Published};
use super::sink::Sink;
use super::sync::{Holders, Permits};
use super::variables::{Slot, Variables};

/// How a block came to be.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// From the allocator: its name, and where it was allocated.
    Heap(String, Rc<Site>),
    /// A thread's stack: the thread's number and name.
    Stack(u32, String),
}

/// How the names of variables begin that stand for signals. No variable of a program has such a name.
const SIGNAL: &str = "signal ";

/// Whether a variable of this name stands for a signal.
pub fn is_signal(name: &str) -> bool {
    name.starts_with(SIGNAL)
}

/// An object is known by its address and the block that address belonged to.
type Key = (BlockNumber, u64);

/// Objects of one kind, which have addresses: their numbers, and a state of each.
#[derive(Debug)]
struct Addressed<S> {
    names: Names,
    known: FxHashMap<Key, (u32, S)>,
}

impl<S> Addressed<S> {
    fn of(table: Table) -> Addressed<S> {
        Addressed { names: Names::of(table), known: FxHashMap::default() }
    }
}

/// Who uses an object, and where: what is on a stack is named for the function that touches it first.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstUse {
    pub(super) thread: u32,
    /// Where the code continues after the event.
    pub(super) pc: u64,
}

/// What names come from, and where they go.
pub(super) struct Output<S: Sink> {
    pub(super) modules: Modules,
    pub(super) sink: S,
}

/// All objects so far.
pub(super) struct Objects {
    pub(super) variables: Variables,
    variable_names: Names,
    variable_ids: Vec<Option<VariableId>>,
    origins: FxHashMap<BlockNumber, Origin>,
    pub(super) frames: Frames,
    block_names: Names,
    block_ids: FxHashMap<BlockNumber, BlockId>,
    locks: Addressed<Holders>,
    conditions: Addressed<()>,
    barriers: Addressed<()>,
    semaphores: Addressed<Permits>,
    orders: FxHashMap<Key, Order>,
    /// What each semaphore starts with, by number.
    permits: Vec<(SemaphoreId, Permits)>,
}

impl Objects {
    pub(super) fn new(variables: Variables) -> Objects {
        Objects {
            variables,
            variable_names: Names::of(Table::Variables),
            variable_ids: Vec::new(),
            origins: FxHashMap::default(),
            frames: Frames::default(),
            block_names: Names::of(Table::Blocks),
            block_ids: FxHashMap::default(),
            locks: Addressed::of(Table::Locks),
            conditions: Addressed::of(Table::Conditions),
            barriers: Addressed::of(Table::Barriers),
            semaphores: Addressed::of(Table::Semaphores),
            orders: FxHashMap::default(),
            permits: Vec::new(),
        }
    }

    /// Notes how a block came to be, and forgets those it took the place of.
    pub(super) fn block(&mut self, placed: Placed, gone: &[Placed], origin: Origin) {
        for block in gone {
            self.origins.remove(&block.number);
            self.block_ids.remove(&block.number);
        }
        self.origins.insert(placed.number, origin);
    }

    /// The number of a block in the trace, if it has variables.
    pub(super) fn block_id<S: Sink>(
        &mut self,
        block: BlockNumber,
        sink: &mut S,
    ) -> io::Result<Option<BlockId>> {
        if !self.variables.keeps_some_of(block) {
            return Ok(None);
        }
        if let Some(&id) = self.block_ids.get(&block) {
            return Ok(Some(id));
        }
        let Some(Origin::Heap(name, _)) = self.origins.get(&block) else { return Ok(None) };
        let id = BlockId(self.block_names.new_one(name.clone(), sink)?);
        self.block_ids.insert(block, id);
        Ok(Some(id))
    }

    /// The number of a variable in the trace, if it has one yet.
    #[inline]
    pub(super) fn known_variable(&self, slot: Slot) -> Option<VariableId> {
        self.variable_ids.get(slot.index()).copied().flatten()
    }

    /// Gives a variable its number and name.
    #[cold]
    pub(super) fn new_variable<S: Sink>(
        &mut self,
        slot: Slot,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<VariableId> {
        let at = self.variables.whereabouts(slot);
        let name = self.name_in(at.address, Some(at.length), first_use, output);
        let id = VariableId(self.variable_names.new_one(name, &mut output.sink)?);
        if self.variable_ids.len() <= slot.index() {
            self.variable_ids.resize(slot.index() + 1, None);
        }
        self.variable_ids[slot.index()] = Some(id);
        Ok(id)
    }

    /// How many variables were named.
    pub(super) fn variable_count(&self) -> usize {
        self.variable_names.len()
    }

    /// A name for what lies at an address, if the sink wants names.
    fn name_in<S: Sink>(
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
            Some(Passage::File(number)) => return format!("file descriptor {number}"),
            _ => {}
        }
        if let Some(placed) = self.variables.block_at(address) {
            let offset = address - placed.start;
            match self.origins.get(&placed.number).cloned() {
                Some(Origin::Heap(name, site)) => {
                    return match &site.holds {
                        Some(holds) => name + &holds.part(modules, offset, length),
                        None => format!("{name}+{offset}"),
                    };
                }
                Some(Origin::Stack(thread, name)) => {
                    return self.local(thread, address, length, first_use, modules).unwrap_or_else(|| {
                        let below = placed.length - offset;
                        let function = modules.function(first_use.pc.saturating_sub(1));
                        match function.filter(|_| first_use.thread == thread) {
                            Some(function) => format!("local of {function} in {name} at -{below}"),
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
        if let Some(offset) = modules.argument_in_frame(pc)
            && let Some(name) = modules.local(pc.saturating_sub(1), offset, length)
        {
            self.frames.set_base(owner, address.wrapping_sub(offset as u64));
            return Some(name);
        }
        modules.local_by_line(pc.saturating_sub(1), address, length)
    }

    fn key(&self, address: u64) -> Key {
        (self.variables.block_at(address).map_or(BlockNumber::NONE, |placed| placed.number), address)
    }

    /// The lock at an address and who holds it.
    pub(super) fn lock<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(LockId, &mut Holders)> {
        let key = self.key(address);
        if !self.locks.known.contains_key(&key) {
            self.new_lock(key, first_use, output)?;
        }
        let (number, holders) = self.locks.known.entry(key).or_default();
        Ok((LockId(*number), holders))
    }

    /// Whether a lock at an address is known, and who holds it.
    pub(super) fn lock_if_known(&self, address: u64) -> (bool, Option<&Holders>) {
        let holders = self.locks.known.get(&self.key(address)).map(|(_, holders)| holders);
        (holders.is_some(), holders)
    }

    /// The address of a lock that a thread holds, if it holds any.
    pub(super) fn lock_held_by(&self, thread: u32) -> Option<u64> {
        let held = self.locks.known.iter().filter(|(_, (_, holders))| holders.have(thread));
        held.map(|(&(_, address), _)| address).min()
    }

    /// A name for what lies at an address.
    pub(super) fn name_of<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> String {
        self.name_in(address, None, first_use, output)
    }

    /// The lock at an address, for a thread that has just taken it. If it cannot have taken the one that is known
    /// there, it is another.
    pub(super) fn lock_taken<S: Sink>(
        &mut self,
        address: u64,
        hold: Hold,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<LockId> {
        let key = self.key(address);
        let admits = |known: &(u32, Holders)| known.1.admit(first_use.thread, hold);
        if !self.locks.known.get(&key).is_some_and(admits) {
            self.new_lock(key, first_use, output)?;
        }
        let (number, holders) = self.locks.known.entry(key).or_default();
        holders.take(first_use.thread, hold);
        Ok(LockId(*number))
    }

    fn new_lock<S: Sink>(&mut self, key: Key, first_use: FirstUse, output: &mut Output<S>) -> io::Result<()> {
        let name = self.name_in(key.1, None, first_use, output);
        let number = self.locks.names.new_one(name, &mut output.sink)?;
        self.locks.known.insert(key, (number, Holders::default()));
        Ok(())
    }

    /// The condition variable at an address.
    pub(super) fn condition<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<ConditionId> {
        let key = self.key(address);
        if let Some(&(number, ())) = self.conditions.known.get(&key) {
            return Ok(ConditionId(number));
        }
        let name = self.name_in(address, None, first_use, output);
        let number = self.conditions.names.new_one(name, &mut output.sink)?;
        self.conditions.known.insert(key, (number, ()));
        Ok(ConditionId(number))
    }

    /// The barrier at an address.
    pub(super) fn barrier<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<BarrierId> {
        let key = self.key(address);
        if let Some(&(number, ())) = self.barriers.known.get(&key) {
            return Ok(BarrierId(number));
        }
        self.new_barrier(address, first_use, output)
    }

    /// A barrier that is made at an address: another than the one that was there.
    pub(super) fn new_barrier<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<BarrierId> {
        let key = self.key(address);
        let name = self.name_in(address, None, first_use, output);
        let number = self.barriers.names.new_one(name, &mut output.sink)?;
        self.barriers.known.insert(key, (number, ()));
        Ok(BarrierId(number))
    }

    /// The semaphore at an address and its permits.
    pub(super) fn semaphore<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(SemaphoreId, &mut Permits)> {
        let key = self.key(address);
        if !self.semaphores.known.contains_key(&key) {
            self.new_semaphore(address, Permits::default(), first_use, output)?;
        }
        let (number, permits) = self.semaphores.known.entry(key).or_default();
        Ok((SemaphoreId(*number), permits))
    }

    /// A semaphore that is made at an address: another than the one that was there.
    pub(super) fn new_semaphore<S: Sink>(
        &mut self,
        address: u64,
        permits: Permits,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<()> {
        let key = self.key(address);
        let name = self.name_in(address, None, first_use, output);
        let number = self.semaphores.names.new_one(name, &mut output.sink)?;
        if let Some((number, permits)) = self.semaphores.known.insert(key, (number, permits)) {
            self.permits.push((SemaphoreId(number), permits));
        }
        Ok(())
    }

    /// A thread publishes what it did, for those who observe this object later.
    pub(super) fn publish<S: Sink>(
        &mut self,
        object: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<Published> {
        let key = self.key(object);
        let name = match Passage::of(object) {
            Some(Passage::None) => "nothing".to_owned(),
            Some(Passage::Sockets) => "sockets".to_owned(),
            Some(Passage::Pipe(_)) => "pipe".to_owned(),
            Some(Passage::Connection(_)) => "connection".to_owned(),
            Some(Passage::Descriptor(number)) => format!("descriptor {number}"),
            Some(Passage::Fiber(number)) => format!("fiber {number}"),
            Some(Passage::Task(number)) => format!("task {number}"),
            Some(Passage::Team(number)) => format!("team {}", number / 8),
            Some(Passage::File(number)) => format!("file descriptor {number}"),
            Some(Passage::Signal(Signal::ANY, _)) => format!("{SIGNAL}of any kind"),
            Some(Passage::Signal(Signal(number), _)) => format!("{SIGNAL}{number}"),
            None => format!("order at {}", self.name_in(object, None, first_use, output)),
        };
        let new = VariableId(self.variable_names.new_one(name, &mut output.sink)?);
        Ok(self.orders.entry(key).or_default().publish(first_use.thread, new))
    }

    /// A thread observes what was published of this object; none if there is nothing new to it.
    pub(super) fn observe(&mut self, object: u64, thread: u32) -> Option<VariableId> {
        let key = self.key(object);
        self.orders.get_mut(&key)?.observe(thread)
    }

    /// What each semaphore that was seen being made starts with.
    pub(super) fn permits(&self) -> impl Iterator<Item = (SemaphoreId, u32)> + '_ {
        let there = self.semaphores.known.values().map(|&(number, permits)| (SemaphoreId(number), permits));
        let all = self.permits.iter().copied().chain(there);
        all.filter_map(|(semaphore, permits)| Some((semaphore, permits.at_start()?)))
    }
}
