//! How a trace comes to be: names are interned, events pushed in order, and `finish` matches and
//! checks them. Readers, generators and tests all build through here, so every [`Trace`] is legal.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use crate::fault::ImpossibleEvent;
use crate::ids::{
    BarrierId, BlockId, ConditionId, EventId, LocationId, LockId, MarkId, RegionId, SemaphoreId, ThreadId,
    VariableId,
};
use crate::matching::Matching;
use crate::memory_order::MemoryOrder;
use crate::metadata::Metadata;
use crate::names::{Interner, Names, TooManyNames};
use crate::op::Op;
use crate::stream::{Batch, NamesSoFar, Take};
use crate::trace::{Columns, Mark, Symbols, Trace};

/// A trace under construction.
#[derive(Clone, Debug, Default)]
pub struct TraceBuilder {
    columns: Columns,
    /// Events that were here and have been passed on.
    passed_on: usize,
    threads: Interner,
    variables: Interner,
    locks: Interner,
    conditions: Interner,
    barriers: Interner,
    semaphores: Interner,
    blocks: Interner,
    regions: Interner,
    mark_names: Interner,
    locations: Interner,
    marks: Vec<Mark>,
    mark_ids: FxHashMap<Mark, MarkId>,
    declared_permits: Vec<Option<u32>>,
    metadata: Metadata,
}

macro_rules! interning {
    ($($method:ident: $table:ident => $id:ty),* $(,)?) => {$(
        #[doc = concat!("The id of the ", stringify!($method), " with this name, new or known.")]
        #[inline]
        pub fn $method(&mut self, name: &str) -> Result<$id, TooManyNames> {
            self.$table.intern(name).map(Into::into)
        }
    )*};
}

impl TraceBuilder {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty trace with room for this many events.
    pub fn with_capacity(events: usize) -> Self {
        TraceBuilder { columns: Columns::with_capacity(events), ..Self::default() }
    }

    interning! {
        thread: threads => ThreadId,
        variable: variables => VariableId,
        lock: locks => LockId,
        condition: conditions => ConditionId,
        barrier: barriers => BarrierId,
        semaphore: semaphores => SemaphoreId,
        block: blocks => BlockId,
        region: regions => RegionId,
        location: locations => LocationId,
    }

    /// Makes room for this many further events, if there is memory for them.
    pub(crate) fn reserve(&mut self, events: usize) {
        self.columns.reserve(events);
    }

    /// The id of a mark with this name and value, new or known.
    pub fn mark(&mut self, name: &str, value: i64) -> Result<MarkId, TooManyNames> {
        let mark = Mark { name: self.mark_names.intern(name)?, value };
        if let Some(&id) = self.mark_ids.get(&mark) {
            return Ok(id);
        }
        let id = MarkId(u32::try_from(self.marks.len()).map_err(|_| TooManyNames)?);
        self.marks.push(mark);
        self.mark_ids.insert(mark, id);
        Ok(id)
    }

    /// States how many permits a semaphore starts with. Undeclared, it is the fewest that make the
    /// trace legal.
    pub fn declare_permits(&mut self, semaphore: SemaphoreId, permits: u32) {
        if self.declared_permits.len() <= semaphore.index() {
            self.declared_permits.resize(semaphore.index() + 1, None);
        }
        self.declared_permits[semaphore.index()] = Some(permits);
    }

    /// States how and where the run was recorded.
    pub fn set_metadata(&mut self, metadata: Metadata) {
        self.metadata = metadata;
    }

    /// Appends an event. Its ids must come from this builder.
    #[inline]
    pub fn push(&mut self, thread: ThreadId, op: Op, location: LocationId) {
        self.columns.push(thread, op, location);
    }

    /// States the memory order of the event pushed last; without that it is `seq_cst`.
    pub fn set_last_order(&mut self, order: MemoryOrder) {
        if let Some(last) = self.columns.len().checked_sub(1) {
            self.columns.set_order(EventId::new(last), order);
        }
    }

    /// States the memory order of an event already pushed and not passed on.
    pub(crate) fn set_order(&mut self, event: EventId, order: MemoryOrder) {
        self.columns.set_order(EventId::new(event.index() - self.passed_on), order);
    }

    /// How many events there are so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.passed_on + self.columns.len()
    }

    /// Whether there is no event yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the events have been passed on and are here no more.
    pub(crate) fn passed_on(&self) -> usize {
        self.passed_on
    }

    /// Passes the events on that are here, and forgets them. No trace can be made any more.
    pub(crate) fn pass_on(&mut self, take: &mut Take<'_>) -> ControlFlow<()> {
        let batch = Batch {
            first: EventId::new(self.passed_on),
            columns: &self.columns,
            names: NamesSoFar {
                threads: self.threads.names(),
                variables: self.variables.names(),
                locks: self.locks.names(),
                locations: self.locations.names(),
            },
            declared_permits: &self.declared_permits,
        };
        let flow = take(&batch);
        self.passed_on += self.columns.len();
        self.columns.clear();
        flow
    }

    /// Replaces the operation of an event already pushed.
    pub fn set_op(&mut self, event: EventId, op: Op) {
        self.columns.set_op(event, op);
    }

    /// The columns so far.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Puts other events in the place of those so far. Their ids must come from this builder.
    pub(crate) fn set_columns(&mut self, columns: Columns) {
        self.columns = columns;
    }

    /// The names of locks and of conditions so far.
    pub(crate) fn locks_and_conditions(&self) -> (&Names, &Names) {
        (self.locks.names(), self.conditions.names())
    }

    /// How many threads there are so far.
    pub fn threads(&self) -> usize {
        self.threads.names().len()
    }

    /// The name of a thread.
    pub fn thread_name(&self, thread: ThreadId) -> &str {
        self.threads.names().get(thread.index())
    }

    /// Matches reads with writes, acquires with releases and so on, and checks that the events
    /// are a run that can have happened. Linear time.
    pub fn finish(self) -> Result<Trace, ImpossibleEvent> {
        let mut columns = self.columns;
        columns.shrink_to_fit();
        let symbols = Symbols {
            threads: self.threads.into_names(),
            variables: self.variables.into_names(),
            locks: self.locks.into_names(),
            conditions: self.conditions.into_names(),
            barriers: self.barriers.into_names(),
            semaphores: self.semaphores.into_names(),
            blocks: self.blocks.into_names(),
            regions: self.regions.into_names(),
            marks: self.mark_names.into_names(),
            locations: self.locations.into_names(),
        };
        Trace::assemble(columns, symbols, self.marks, self.declared_permits, self.metadata)
    }
}

impl TraceBuilder {
    /// The same without the events that cannot have happened where they stand; these are returned with what is wrong with them, by the
    /// numbers they had.
    pub fn finish_lenient(mut self) -> Result<(Trace, Vec<ImpossibleEvent>), ImpossibleEvent> {
        /// Each round but the last leaves events out, mostly all that it has to.
        const ROUNDS: usize = 32;
        let mut dropped = Vec::new();
        // The number that each event had at first.
        let mut numbers: Vec<u32> = (0..self.columns.len() as u32).collect();
        for _ in 0..ROUNDS {
            let faults = Matching::faults(&self.columns, &self.symbols(), &self.declared_permits);
            if faults.is_empty() {
                break;
            }
            let at_fault: Vec<EventId> = faults.iter().map(|fault| fault.event).collect();
            dropped.extend(
                faults.into_iter().map(|fault| fault.renumbered(|event| EventId(numbers[event.index()]))),
            );
            let is_kept = |index: &usize| at_fault.binary_search(&EventId::new(*index)).is_err();
            let kept: Vec<usize> = (0..self.columns.len()).filter(is_kept).collect();
            let mut columns = Columns::with_capacity(kept.len());
            kept.iter().for_each(|&index| columns.copy_from(&self.columns, EventId::new(index)));
            numbers = kept.iter().map(|&index| numbers[index]).collect();
            self.columns = columns;
        }
        self.metadata.dropped += dropped.len() as u64;
        Ok((self.finish()?, dropped))
    }

    fn symbols(&self) -> Symbols {
        Symbols {
            threads: self.threads.names().clone(),
            variables: self.variables.names().clone(),
            locks: self.locks.names().clone(),
            conditions: self.conditions.names().clone(),
            barriers: self.barriers.names().clone(),
            semaphores: self.semaphores.names().clone(),
            blocks: self.blocks.names().clone(),
            regions: self.regions.names().clone(),
            marks: self.mark_names.names().clone(),
            locations: self.locations.names().clone(),
        }
    }
}

impl Trace {
    /// A run of other events with the same names. Semaphores start with as many permits as here. Without notes.
    ///
    /// # Panics
    ///
    /// If an id in the columns is not one of this trace's.
    pub fn with_events(&self, columns: Columns) -> Result<Trace, ImpossibleEvent> {
        let semaphores = (0..self.symbols.semaphores.len() as u32).map(SemaphoreId);
        let permits = semaphores.map(|semaphore| Some(self.initial_permits(semaphore))).collect();
        Trace::assemble(columns, self.symbols.clone(), self.marks.clone(), permits, self.metadata.clone())
    }

    /// A trace of these parts, matched and checked. Every id in the columns must be within its
    /// table; the readers see to that.
    pub(crate) fn assemble(
        columns: Columns,
        symbols: Symbols,
        marks: Vec<Mark>,
        declared_permits: Vec<Option<u32>>,
        metadata: Metadata,
    ) -> Result<Trace, ImpossibleEvent> {
        let assembled =
            Trace::assemble_while(columns, symbols, marks, declared_permits, metadata, &mut || true);
        assembled.map(|trace| trace.unwrap_or_else(|| unreachable!("nobody calls it off")))
    }

    /// The same as long as `go_on` says so: nothing if it was called off.
    pub(crate) fn assemble_while(
        columns: Columns,
        symbols: Symbols,
        marks: Vec<Mark>,
        declared_permits: Vec<Option<u32>>,
        metadata: Metadata,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Trace>, ImpossibleEvent> {
        let matching = Matching::of(&columns, &symbols, &declared_permits, go_on)?;
        Ok(matching.map(|matching| Trace {
            columns,
            matching,
            symbols,
            marks,
            declared_permits,
            metadata,
            notes: None,
        }))
    }
}
