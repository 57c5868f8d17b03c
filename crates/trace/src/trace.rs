//! The trace as columns: 12 bytes an event, and 4 more for what it is matched with.

use std::borrow::Cow;
use std::ops::Range;

use crate::ids::{
    BarrierId, BlockId, ConditionId, EventId, InstanceId, LocationId, LockId, MarkId, RegionId, SemaphoreId,
    ThreadId, VariableId,
};
use crate::matching::{Link, Matching};
use crate::memory_order::MemoryOrder;
use crate::metadata::Metadata;
use crate::names::Names;
use crate::native::Notes;
use crate::op::{Kind, Op};
use crate::viewpoint::Viewpoint;

/// The columns of the events, without any meaning attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The thread in the upper 27 bits, the code of the kind in the lower 5.
    heads: Vec<u32>,
    targets: Vec<u32>,
    locations: Vec<u32>,
    /// The memory orders of the events, up to the last that is not `seq_cst`: empty if all are.
    orders: Vec<MemoryOrder>,
}

const KIND_BITS: u32 = 5;

impl Columns {
    /// Room for this many events without growing.
    pub fn with_capacity(events: usize) -> Self {
        Columns {
            heads: Vec::with_capacity(events),
            targets: Vec::with_capacity(events),
            locations: Vec::with_capacity(events),
            orders: Vec::new(),
        }
    }

    /// Makes room for this many further events, if there is memory for them.
    pub(crate) fn reserve(&mut self, events: usize) {
        for column in [&mut self.heads, &mut self.targets, &mut self.locations] {
            // Without it, the columns grow as they are filled.
            let _ = column.try_reserve(events);
        }
    }

    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, thread: ThreadId, op: Op, location: LocationId) {
        self.heads.push(thread.0 << KIND_BITS | op.kind() as u32);
        self.targets.push(op.target());
        self.locations.push(location.0);
    }

    /// Appends an event of others.
    pub(crate) fn copy_from(&mut self, other: &Columns, event: EventId) {
        self.heads.push(other.heads[event.index()]);
        self.targets.push(other.targets[event.index()]);
        self.locations.push(other.locations[event.index()]);
        self.set_order(EventId::new(self.len() - 1), other.order(event));
    }

    /// The thread of an event.
    #[inline]
    pub fn thread(&self, event: EventId) -> ThreadId {
        ThreadId(self.heads[event.index()] >> KIND_BITS)
    }

    /// The kind of an event.
    #[inline]
    pub fn kind(&self, event: EventId) -> Kind {
        kind_of(self.heads[event.index()])
    }

    /// The operation of an event.
    #[inline]
    pub fn op(&self, event: EventId) -> Op {
        Op::from_parts(self.kind(event), self.targets[event.index()])
    }

    /// The location of an event.
    #[inline]
    pub fn location(&self, event: EventId) -> LocationId {
        LocationId(self.locations[event.index()])
    }

    /// The memory order of an event; `seq_cst` where none was stated, and for events that have none.
    #[inline]
    pub fn order(&self, event: EventId) -> MemoryOrder {
        self.orders.get(event.index()).copied().unwrap_or_default()
    }

    /// States the memory order of an event. Events whose kind has none keep none.
    pub fn set_order(&mut self, event: EventId, order: MemoryOrder) {
        if !self.kind(event).has_memory_order() {
            return;
        }
        if order != MemoryOrder::SeqCst && self.orders.len() <= event.index() {
            self.orders.resize(event.index() + 1, MemoryOrder::SeqCst);
        }
        if let Some(place) = self.orders.get_mut(event.index()) {
            *place = order;
        }
        // One form for one meaning, so that equal traces are equal.
        while self.orders.last() == Some(&MemoryOrder::SeqCst) {
            self.orders.pop();
        }
    }

    /// Whether every memory order is `seq_cst`.
    #[inline]
    pub fn is_sequential(&self) -> bool {
        self.orders.is_empty()
    }

    /// The memory orders, up to the last that is not `seq_cst`.
    pub(crate) fn orders(&self) -> &[MemoryOrder] {
        &self.orders
    }

    /// Forgets the memory orders: all are `seq_cst`.
    pub(crate) fn forget_orders(&mut self) {
        self.orders = Vec::new();
    }

    /// Replaces the operation of an event.
    pub fn set_op(&mut self, event: EventId, op: Op) {
        let head = &mut self.heads[event.index()];
        *head = *head >> KIND_BITS << KIND_BITS | op.kind() as u32;
        self.targets[event.index()] = op.target();
    }

    /// All events in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Op)> + '_ {
        self.packed().map(|(event, thread, kind, target)| (event, thread, Op::from_parts(kind, target)))
    }

    /// All events in order, their operations as kind and raw target.
    #[inline]
    pub(crate) fn packed(
        &self,
    ) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Kind, u32)> + DoubleEndedIterator + '_ {
        self.heads.iter().zip(&self.targets).enumerate().map(|(index, (&head, &target))| {
            (EventId(index as u32), ThreadId(head >> KIND_BITS), kind_of(head), target)
        })
    }

    /// The events of a range, in order.
    #[inline]
    pub(crate) fn within(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Op)> + '_ {
        let first = range.start as u32;
        let rows = self.heads[range.clone()].iter().zip(&self.targets[range]).enumerate();
        rows.map(move |(index, (&head, &target))| {
            let op = Op::from_parts(kind_of(head), target);
            (EventId(first + index as u32), ThreadId(head >> KIND_BITS), op)
        })
    }

    /// Appends events column by column if all of them are within bounds; otherwise none, and says which
    /// is not. The columns are equally long.
    pub(crate) fn extend_checked(
        &mut self,
        heads: impl Iterator<Item = u32>,
        targets: impl Iterator<Item = u32>,
        locations: impl Iterator<Item = u32>,
        bounds: &Bounds,
    ) -> Result<(), Outside> {
        let start = self.len();
        self.heads.extend(heads);
        self.targets.extend(targets);
        self.locations.extend(locations);
        let result = bounds.check(self, start);
        if result.is_err() {
            self.heads.truncate(start);
            self.targets.truncate(start);
            self.locations.truncate(start);
        }
        result
    }

    /// The heads as they are packed.
    pub(crate) fn heads(&self) -> &[u32] {
        &self.heads
    }

    /// The raw targets.
    pub(crate) fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The raw locations.
    pub(crate) fn locations(&self) -> &[u32] {
        &self.locations
    }

    /// Forgets all events and keeps their room.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.targets.clear();
        self.locations.clear();
        self.orders.clear();
    }

    /// Gives back the room that was not needed.
    pub fn shrink_to_fit(&mut self) {
        self.heads.shrink_to_fit();
        self.targets.shrink_to_fit();
        self.locations.shrink_to_fit();
        self.orders.shrink_to_fit();
    }
}

/// Kinds by their codes. `push`, `set_op` and `extend_checked` alone write heads, so the code is always one of a kind.
const KINDS: [Kind; 1 << KIND_BITS] = {
    let mut kinds = [Kind::Begin; 1 << KIND_BITS];
    let mut index = 0;
    while index < Kind::ALL.len() {
        kinds[Kind::ALL[index] as usize] = Kind::ALL[index];
        index += 1;
    }
    kinds
};

#[inline]
fn kind_of(head: u32) -> Kind {
    KINDS[(head & ((1 << KIND_BITS) - 1)) as usize]
}

/// How far the numbers of events may go: each is less than its bound.
pub(crate) struct Bounds {
    threads: u32,
    locations: u32,
    /// By code of the kind; 0 for codes that are of no kind. Wider than a target, so that a count can be
    /// any 32-bit number.
    targets: [u64; 1 << KIND_BITS],
}

/// An event with a number out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Kind { event: EventId, code: u32 },
    Thread { event: EventId, thread: u32 },
    Target { event: EventId, kind: Kind, target: u32 },
    Location { event: EventId, location: u32 },
}

impl Bounds {
    /// Bounds for these numbers of threads and locations, and targets by kind.
    pub(crate) fn new(threads: u32, locations: u32, target: impl Fn(Kind) -> u64) -> Self {
        let mut targets = [0; 1 << KIND_BITS];
        for &kind in Kind::ALL {
            targets[kind as usize] = target(kind);
        }
        Bounds { threads, locations, targets }
    }

    /// Checks the events from `start` on: first all at once, without a branch an event, and only if
    /// something is wrong, one by one.
    fn check(&self, columns: &Columns, start: usize) -> Result<(), Outside> {
        let (heads, targets) = (&columns.heads[start..], &columns.targets[start..]);
        let locations = &columns.locations[start..];
        let last_thread = heads.iter().fold(0, |most, &head| most.max(head >> KIND_BITS));
        let last_location = locations.iter().fold(0, |most, &location| most.max(location));
        let outside = heads
            .iter()
            .zip(targets)
            .fold(false, |outside, (&head, &target)| outside | (u64::from(target) >= self.target(head)));
        if heads.is_empty() || last_thread < self.threads && last_location < self.locations && !outside {
            return Ok(());
        }
        let rows = heads.iter().zip(targets).zip(locations);
        rows.enumerate().try_for_each(|(index, ((&head, &target), &location))| {
            self.check_one(EventId::new(start + index), head, target, location)
        })
    }

    #[inline]
    fn target(&self, head: u32) -> u64 {
        self.targets[(head & ((1 << KIND_BITS) - 1)) as usize]
    }

    fn check_one(&self, event: EventId, head: u32, target: u32, location: u32) -> Result<(), Outside> {
        let (thread, code) = (head >> KIND_BITS, head & ((1 << KIND_BITS) - 1));
        let Some(kind) = Kind::from_code(code as u8) else {
            return Err(Outside::Kind { event, code });
        };
        if thread >= self.threads {
            return Err(Outside::Thread { event, thread });
        }
        if u64::from(target) >= self.target(head) {
            return Err(Outside::Target { event, kind, target });
        }
        if location >= self.locations {
            return Err(Outside::Location { event, location });
        }
        Ok(())
    }
}

/// A mark's name and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Index of the name in [`Symbols::marks`].
    pub name: u32,
    /// The value given.
    pub value: i64,
}

/// The names of everything in a trace, one table a kind of object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the table of the objects it is named for")]
pub struct Symbols {
    pub threads: Names,
    pub variables: Names,
    pub locks: Names,
    pub conditions: Names,
    pub barriers: Names,
    pub semaphores: Names,
    pub blocks: Names,
    pub regions: Names,
    pub marks: Names,
    pub locations: Names,
}

macro_rules! name_of {
    ($($method:ident: $id:ty => $table:ident),* $(,)?) => {$(
        #[doc = concat!("The name of a ", stringify!($method), ".")]
        pub fn $method(&self, id: $id) -> &str {
            self.$table.get(id.index())
        }
    )*};
}

impl Symbols {
    name_of! {
        thread: ThreadId => threads,
        variable: VariableId => variables,
        lock: LockId => locks,
        condition: ConditionId => conditions,
        barrier: BarrierId => barriers,
        semaphore: SemaphoreId => semaphores,
        block: BlockId => blocks,
        region: RegionId => regions,
        location: LocationId => locations,
    }
}

/// One recorded run: what happened in which order, what each event was matched with, and the
/// names of everything. It is legal by construction: [`crate::TraceBuilder::finish`] checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(crate) columns: Columns,
    pub(crate) matching: Matching,
    pub(crate) symbols: Symbols,
    pub(crate) marks: Vec<Mark>,
    pub(crate) declared_permits: Vec<Option<u32>>,
    pub(crate) metadata: Metadata,
    pub(crate) notes: Option<Notes>,
}

impl Trace {
    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// All events in order, with thread and operation.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Op)> + '_ {
        self.columns.iter()
    }

    /// The events of a range, in order, with thread and operation.
    #[inline]
    pub fn events_within(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (EventId, ThreadId, Op)> + '_ {
        self.columns.within(range)
    }

    /// The columns of the events.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The thread of an event.
    #[inline]
    pub fn thread(&self, event: EventId) -> ThreadId {
        self.columns.thread(event)
    }

    /// The kind of an event.
    #[inline]
    pub fn kind(&self, event: EventId) -> Kind {
        self.columns.kind(event)
    }

    /// The operation of an event.
    #[inline]
    pub fn op(&self, event: EventId) -> Op {
        self.columns.op(event)
    }

    /// Where in the source an event happened.
    #[inline]
    pub fn location(&self, event: EventId) -> LocationId {
        self.columns.location(event)
    }

    /// The memory order of an event; `seq_cst` where none was stated, and for events that have none.
    #[inline]
    pub fn memory_order(&self, event: EventId) -> MemoryOrder {
        self.columns.order(event)
    }

    /// Whether every atomic operation and fence is `seq_cst`: then every atomic read synchronises with the write it saw.
    #[inline]
    pub fn is_sequential(&self) -> bool {
        self.columns.is_sequential()
    }

    /// The same run with every atomic operation and fence `seq_cst`.
    pub fn without_memory_orders(mut self) -> Trace {
        self.columns.forget_orders();
        self
    }

    /// The same run with another memory order for some events.
    pub fn with_memory_orders(mut self, orders: &[(EventId, MemoryOrder)]) -> Trace {
        for &(event, order) in orders {
            self.columns.set_order(event, order);
        }
        self
    }

    /// The same run with source files named as they are seen from another directory than the one it was recorded in.
    pub fn seen_from(mut self, directory: &str) -> Trace {
        let viewpoint = Viewpoint::new(&self.metadata.directory, directory);
        self.symbols.locations = self.symbols.locations.renamed(|location| viewpoint.location(location));
        if let Some(notes) = &mut self.notes {
            // A frame is a function and its location.
            notes.rename_frames(|frame| match frame.split_once('\t') {
                Some((function, location)) => match viewpoint.location(location) {
                    Cow::Owned(location) => Cow::Owned(format!("{function}\t{location}")),
                    Cow::Borrowed(_) => Cow::Borrowed(frame),
                },
                None => Cow::Borrowed(frame),
            });
        }
        self
    }

    /// What each event is matched with.
    pub fn matching(&self) -> &Matching {
        &self.matching
    }

    /// What an event is matched with.
    #[inline]
    pub fn link(&self, event: EventId) -> Link {
        self.matching.link(event)
    }

    /// For a read: the write whose value it saw; `None` for the initial value.
    #[inline]
    pub fn reads_from(&self, read: EventId) -> Option<EventId> {
        debug_assert!(self.op(read).reads().is_some());
        self.link(read).event()
    }

    /// Whether this acquire or release lies within a section of the same lock by the same thread
    /// (a recursive lock), and so has no effect.
    #[inline]
    pub fn is_nested(&self, event: EventId) -> bool {
        self.link(event).is_nested_in(event)
    }

    /// For an acquire, its release, and for a release, its acquire. `None`: the section is still
    /// open at the end of the trace, or the event is nested in another section.
    #[inline]
    pub fn section_end(&self, event: EventId) -> Option<EventId> {
        self.link(event).event().filter(|&other| other != event)
    }

    /// For a barrier's enter or exit: the instance it belongs to.
    pub fn barrier_instance(&self, event: EventId) -> InstanceId {
        self.matching.barrier_instance(event)
    }

    /// The fork that created a thread, if it was recorded.
    pub fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        self.matching.fork_of(thread)
    }

    /// The number of permits a semaphore started with: as declared, or else the fewest that make
    /// the trace legal.
    pub fn initial_permits(&self, semaphore: SemaphoreId) -> u32 {
        self.matching.initial_permits(semaphore)
    }

    /// The number of permits a semaphore was declared with.
    pub fn declared_permits(&self, semaphore: SemaphoreId) -> Option<u32> {
        self.declared_permits.get(semaphore.index()).copied().flatten()
    }

    /// The names of everything.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// A mark's name and value.
    pub fn mark(&self, mark: MarkId) -> Mark {
        self.marks[mark.index()]
    }

    /// All distinct marks.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// How and where it was recorded.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Call stacks, places and the like, if it was recorded with them: what replaying it takes.
    pub fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    /// Whether the program can be run again along a schedule of this trace: the command is known, and
    /// every event's place in its thread.
    pub fn can_be_replayed(&self) -> bool {
        let noted = self.notes().map_or(0, Notes::noted);
        !self.metadata.command.is_empty() && !self.is_empty() && noted == self.len()
    }

    /// Bytes of memory the trace takes: columns and matching, then names and notes.
    pub fn memory(&self) -> (usize, usize) {
        let s = &self.symbols;
        let names = [
            &s.threads,
            &s.variables,
            &s.locks,
            &s.conditions,
            &s.barriers,
            &s.semaphores,
            &s.blocks,
            &s.regions,
            &s.marks,
            &s.locations,
        ];
        let columns = [&self.columns.heads, &self.columns.targets, &self.columns.locations];
        let events = columns.iter().map(|c| c.capacity() * 4).sum::<usize>()
            + self.columns.orders.capacity()
            + self.matching.memory();
        let notes = self.notes().map_or(0, Notes::memory);
        (events, names.iter().map(|n| n.memory()).sum::<usize>() + notes)
    }
}
