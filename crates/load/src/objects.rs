//! The objects of a trace: what lies where, under which name and number.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use trace::native::{Table, Writer};
use trace::{BarrierId, BlockId, ConditionId, LockId, SemaphoreId, VariableId};
use wire::{Hold, Passage, Signal};

use super::blocks::{BlockNumber, Placed};
use super::modules::Modules;
use super::naming::Names;
use super::published::{Order, Published};
use super::sync::{Holders, Permits};
use super::variables::{Slot, Variables};

/// How a block came to be.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// From the allocator; its name.
    Heap(String),
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

/// Something that has an address, a number, and a state of its own.
#[derive(Debug)]
struct Kept<S> {
    names: Names,
    known: FxHashMap<Key, (u32, S)>,
}

impl<S> Kept<S> {
    fn of(table: Table) -> Kept<S> {
        Kept { names: Names::of(table), known: FxHashMap::default() }
    }
}

/// Who asks for a name: what is on a stack is named for the function that touches it first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    pub(super) thread: u32,
    pub(super) function: Option<&'a str>,
}

/// What names come from, and where they go.
pub(super) struct Teller<W: Write> {
    pub(super) modules: Modules,
    pub(super) writer: Writer<W>,
}

/// All objects so far.
pub(super) struct Objects {
    pub(super) variables: Variables,
    variable_names: Names,
    variable_ids: Vec<Option<VariableId>>,
    origins: FxHashMap<BlockNumber, Origin>,
    block_names: Names,
    block_ids: FxHashMap<BlockNumber, BlockId>,
    locks: Kept<Holders>,
    conditions: Kept<()>,
    barriers: Kept<()>,
    semaphores: Kept<Permits>,
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
            block_names: Names::of(Table::Blocks),
            block_ids: FxHashMap::default(),
            locks: Kept::of(Table::Locks),
            conditions: Kept::of(Table::Conditions),
            barriers: Kept::of(Table::Barriers),
            semaphores: Kept::of(Table::Semaphores),
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
    pub(super) fn block_id<W: Write>(
        &mut self,
        block: BlockNumber,
        writer: &mut Writer<W>,
    ) -> io::Result<Option<BlockId>> {
        if !self.variables.keeps_some_of(block) {
            return Ok(None);
        }
        if let Some(&id) = self.block_ids.get(&block) {
            return Ok(Some(id));
        }
        let Some(Origin::Heap(name)) = self.origins.get(&block) else { return Ok(None) };
        let id = BlockId(self.block_names.new_one(name.clone(), writer)?);
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
    pub(super) fn new_variable<W: Write>(
        &mut self,
        slot: Slot,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<VariableId> {
        let at = self.variables.whereabouts(slot);
        let name = self.name(at.address, Some(at.length), asker, &mut teller.modules);
        let id = VariableId(self.variable_names.new_one(name, &mut teller.writer)?);
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

    /// A name for what lies at an address and is so long, if that is known.
    fn name(&self, address: u64, length: Option<u64>, asker: Asker<'_>, modules: &mut Modules) -> String {
        if let Some(placed) = self.variables.block_at(address) {
            let offset = address - placed.start;
            match self.origins.get(&placed.number) {
                Some(Origin::Heap(name)) => return format!("{name}+{offset}"),
                Some(Origin::Stack(thread, name)) => {
                    let below = placed.length - offset;
                    return match asker.function.filter(|_| asker.thread == *thread) {
                        Some(function) => format!("{function} frame of {name} at -{below}"),
                        None => format!("stack of {name} at -{below}"),
                    };
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

    fn key(&self, address: u64) -> Key {
        (self.variables.block_at(address).map_or(BlockNumber::NONE, |placed| placed.number), address)
    }

    /// The lock at an address and who holds it.
    pub(super) fn lock<W: Write>(
        &mut self,
        address: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<(LockId, &mut Holders)> {
        let key = self.key(address);
        if !self.locks.known.contains_key(&key) {
            self.new_lock(key, asker, teller)?;
        }
        let (number, holders) = self.locks.known.entry(key).or_default();
        Ok((LockId(*number), holders))
    }

    /// The lock at an address, for a thread that has just taken it. If it cannot have taken the one that is known
    /// there, it is another.
    pub(super) fn lock_taken<W: Write>(
        &mut self,
        address: u64,
        hold: Hold,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<LockId> {
        let key = self.key(address);
        let admits = |known: &(u32, Holders)| known.1.admit(asker.thread, hold);
        if !self.locks.known.get(&key).is_some_and(admits) {
            self.new_lock(key, asker, teller)?;
        }
        let (number, holders) = self.locks.known.entry(key).or_default();
        holders.take(asker.thread, hold);
        Ok(LockId(*number))
    }

    fn new_lock<W: Write>(&mut self, key: Key, asker: Asker<'_>, teller: &mut Teller<W>) -> io::Result<()> {
        let name = self.name(key.1, None, asker, &mut teller.modules);
        let number = self.locks.names.new_one(name, &mut teller.writer)?;
        self.locks.known.insert(key, (number, Holders::default()));
        Ok(())
    }

    /// The condition variable at an address.
    pub(super) fn condition<W: Write>(
        &mut self,
        address: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<ConditionId> {
        let key = self.key(address);
        if let Some(&(number, ())) = self.conditions.known.get(&key) {
            return Ok(ConditionId(number));
        }
        let name = self.name(address, None, asker, &mut teller.modules);
        let number = self.conditions.names.new_one(name, &mut teller.writer)?;
        self.conditions.known.insert(key, (number, ()));
        Ok(ConditionId(number))
    }

    /// The barrier at an address.
    pub(super) fn barrier<W: Write>(
        &mut self,
        address: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<BarrierId> {
        let key = self.key(address);
        if let Some(&(number, ())) = self.barriers.known.get(&key) {
            return Ok(BarrierId(number));
        }
        self.new_barrier(address, asker, teller)
    }

    /// A barrier that is made at an address: another than the one that was there.
    pub(super) fn new_barrier<W: Write>(
        &mut self,
        address: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<BarrierId> {
        let key = self.key(address);
        let name = self.name(address, None, asker, &mut teller.modules);
        let number = self.barriers.names.new_one(name, &mut teller.writer)?;
        self.barriers.known.insert(key, (number, ()));
        Ok(BarrierId(number))
    }

    /// The semaphore at an address and its permits.
    pub(super) fn semaphore<W: Write>(
        &mut self,
        address: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<(SemaphoreId, &mut Permits)> {
        let key = self.key(address);
        if !self.semaphores.known.contains_key(&key) {
            self.new_semaphore(address, Permits::default(), asker, teller)?;
        }
        let (number, permits) = self.semaphores.known.entry(key).or_default();
        Ok((SemaphoreId(*number), permits))
    }

    /// A semaphore that is made at an address: another than the one that was there.
    pub(super) fn new_semaphore<W: Write>(
        &mut self,
        address: u64,
        permits: Permits,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<()> {
        let key = self.key(address);
        let name = self.name(address, None, asker, &mut teller.modules);
        let number = self.semaphores.names.new_one(name, &mut teller.writer)?;
        if let Some((number, permits)) = self.semaphores.known.insert(key, (number, permits)) {
            self.permits.push((SemaphoreId(number), permits));
        }
        Ok(())
    }

    /// A thread publishes what it did, for those who observe this object later.
    pub(super) fn publish<W: Write>(
        &mut self,
        object: u64,
        asker: Asker<'_>,
        teller: &mut Teller<W>,
    ) -> io::Result<Published> {
        let key = self.key(object);
        let name = match Passage::of(object) {
            Some(Passage::None) => "nothing".to_owned(),
            Some(Passage::Sockets) => "sockets".to_owned(),
            Some(Passage::Pipe(_)) => "pipe".to_owned(),
            Some(Passage::Connection(_)) => "connection".to_owned(),
            Some(Passage::Signal(Signal::ANY, _)) => format!("{SIGNAL}of any kind"),
            Some(Passage::Signal(Signal(number), _)) => format!("{SIGNAL}{number}"),
            None => format!("order at {}", self.name(object, None, asker, &mut teller.modules)),
        };
        let new = VariableId(self.variable_names.new_one(name, &mut teller.writer)?);
        Ok(self.orders.entry(key).or_default().publish(asker.thread, new))
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
