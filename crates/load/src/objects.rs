//! The objects of a trace: what lies where, under which name and number.

use std::io;

use rustc_hash::FxHashMap;
use trace::native::Table;
use trace::{BarrierId, BlockId, ConditionId, EPOLL, EVENTFD, LockId, SemaphoreId, VariableId};
use wire::{Hold, Passage, Signal};

use super::blocks::{BlockNumber, Placed};
use super::memory::{FirstUse, Memory, Origin, Output};
use super::naming::Names;
use super::published::Order;
use super::sink::Sink;
use super::sync::{Holders, Permits};
use super::variables::{Slot, Variables};

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
struct Addressed<T> {
    names: Names,
    known: FxHashMap<Key, (u32, T)>,
}

impl<T: Default> Addressed<T> {
    fn of(table: Table) -> Addressed<T> {
        Addressed { names: Names::of(table), known: FxHashMap::default() }
    }

    /// The object that is known at an address, or a new one: its id and its state.
    fn at<I, S: Sink>(
        &mut self,
        address: u64,
        id: fn(u32) -> I,
        memory: &mut Memory,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(I, &mut T)> {
        let key = (memory.block_of(address), address);
        if !self.known.contains_key(&key) {
            self.replace(key, T::default(), memory, first_use, output)?;
        }
        let (number, state) = self.known.entry(key).or_default();
        Ok((id(*number), state))
    }

    /// A new object, whatever was known there. Returns its number, and what it takes the place of.
    fn replace<S: Sink>(
        &mut self,
        key: Key,
        state: T,
        memory: &mut Memory,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(u32, Option<(u32, T)>)> {
        let name = memory.name_in(key.1, None, first_use, output);
        let number = self.names.new_one(name, &mut output.sink)?;
        Ok((number, self.known.insert(key, (number, state))))
    }
}

/// All objects so far.
pub(super) struct Objects {
    pub(super) memory: Memory,
    variable_names: Names,
    variable_ids: Vec<Option<VariableId>>,
    block_names: Names,
    block_ids: FxHashMap<BlockNumber, BlockId>,
    locks: Addressed<Holders>,
    conditions: Addressed<()>,
    barriers: Addressed<()>,
    semaphores: Addressed<Permits>,
    orders: FxHashMap<Key, Order>,
    /// What each semaphore that is no longer there started with.
    permits: Vec<(SemaphoreId, Permits)>,
}

impl Objects {
    pub(super) fn new(variables: Variables) -> Objects {
        Objects {
            memory: Memory::new(variables),
            variable_names: Names::of(Table::Variables),
            variable_ids: Vec::new(),
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
            self.block_ids.remove(&block.number);
        }
        self.memory.place(placed, gone, origin);
    }

    /// The number of a block in the trace, if it has variables.
    pub(super) fn block_id<S: Sink>(
        &mut self,
        block: BlockNumber,
        sink: &mut S,
    ) -> io::Result<Option<BlockId>> {
        if !self.memory.variables.keeps_some_of(block) {
            return Ok(None);
        }
        if let Some(&id) = self.block_ids.get(&block) {
            return Ok(Some(id));
        }
        let Some(name) = self.memory.name_of_block(block) else { return Ok(None) };
        let id = BlockId(self.block_names.new_one(name.to_owned(), sink)?);
        self.block_ids.insert(block, id);
        Ok(Some(id))
    }

    /// Whether a block is in the trace.
    pub(super) fn is_named_block(&self, block: BlockNumber) -> bool {
        self.block_ids.contains_key(&block)
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
        let at = self.memory.variables.location_of(slot);
        let name = self.memory.name_in(at.address, Some(at.length), first_use, output);
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

    fn key(&self, address: u64) -> Key {
        (self.memory.block_of(address), address)
    }

    /// The lock at an address and who holds it.
    pub(super) fn lock<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(LockId, &mut Holders)> {
        self.locks.at(address, LockId, &mut self.memory, first_use, output)
    }

    /// Whether a lock at an address is known, and who holds it.
    pub(super) fn lock_if_known(&self, address: u64) -> (bool, Option<&Holders>) {
        let holders = self.locks.known.get(&self.key(address)).map(|(_, holders)| holders);
        (holders.is_some(), holders)
    }

    /// The lock at an address, if one is known there.
    pub(super) fn known_lock(&self, address: u64) -> Option<LockId> {
        self.locks.known.get(&self.key(address)).map(|&(number, _)| LockId(number))
    }

    /// The address of a lock that a thread holds, if it holds any.
    pub(super) fn lock_held_by(&self, thread: u32) -> Option<u64> {
        let held = self.locks.known.iter().filter(|(_, (_, holders))| holders.have(thread));
        held.map(|(&(_, address), _)| address).min()
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
            self.locks.replace(key, Holders::default(), &mut self.memory, first_use, output)?;
        }
        let (lock, holders) = self.lock(address, first_use, output)?;
        holders.take(first_use.thread, hold);
        Ok(lock)
    }

    /// The condition variable at an address.
    pub(super) fn condition<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<ConditionId> {
        Ok(self.conditions.at(address, ConditionId, &mut self.memory, first_use, output)?.0)
    }

    /// The barrier at an address.
    pub(super) fn barrier<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<BarrierId> {
        Ok(self.barriers.at(address, BarrierId, &mut self.memory, first_use, output)?.0)
    }

    /// A barrier that is made at an address: another than the one that was there.
    pub(super) fn new_barrier<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<()> {
        let key = self.key(address);
        self.barriers.replace(key, (), &mut self.memory, first_use, output)?;
        Ok(())
    }

    /// The semaphore at an address and its permits.
    pub(super) fn semaphore<S: Sink>(
        &mut self,
        address: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(SemaphoreId, &mut Permits)> {
        self.semaphores.at(address, SemaphoreId, &mut self.memory, first_use, output)
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
        let (_, gone) = self.semaphores.replace(key, permits, &mut self.memory, first_use, output)?;
        self.permits.extend(gone.map(|(number, permits)| (SemaphoreId(number), permits)));
        Ok(())
    }

    /// A thread publishes what it did, for those who observe this object later.
    pub(super) fn publish<S: Sink>(
        &mut self,
        object: u64,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> io::Result<(Vec<VariableId>, VariableId)> {
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
            Some(Passage::Iteration(number)) => format!("iteration {number}"),
            Some(Passage::File(number)) => format!("file descriptor {number}"),
            Some(Passage::Everything) => "finalizers".to_owned(),
            Some(Passage::Counter(number)) => format!("{EVENTFD}{number}"),
            Some(Passage::Interest(number)) => format!("{EPOLL}{number}"),
            Some(Passage::Futex(address)) => {
                format!("order at {}", self.memory.name_in(address, None, first_use, output))
            }
            Some(Passage::Signal(Signal::ANY, _)) => format!("{SIGNAL}of any kind"),
            Some(Passage::Signal(Signal(number), _)) => format!("{SIGNAL}{number}"),
            None => format!("order at {}", self.memory.name_in(object, None, first_use, output)),
        };
        let new = VariableId(self.variable_names.new_one(name, &mut output.sink)?);
        Ok((self.orders.entry(key).or_default().publish(first_use.thread, new), new))
    }

    /// A thread observes what was published of this object; none if there is nothing new to it.
    pub(super) fn observe(&mut self, object: u64, thread: u32) -> Vec<VariableId> {
        let key = self.key(object);
        self.orders.get_mut(&key).map(|order| order.observe(thread)).unwrap_or_default()
    }

    /// What each semaphore that was seen being made starts with.
    pub(super) fn permits(&self) -> impl Iterator<Item = (SemaphoreId, u32)> + '_ {
        let there = self.semaphores.known.values().map(|&(number, permits)| (SemaphoreId(number), permits));
        let all = self.permits.iter().copied().chain(there);
        all.filter_map(|(semaphore, permits)| Some((semaphore, permits.at_start()?)))
    }
}
