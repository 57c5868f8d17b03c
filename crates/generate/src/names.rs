//! Names for what a generator makes up, and the trace its events become.

use trace::{
    BarrierId, BlockId, ConditionId, LocationId, LockId, MarkId, Op, RegionId, SemaphoreId, ThreadId,
    TooManyNames, Trace, TraceBuilder, VariableId,
};

use crate::generator::{Event, Generator};
use crate::settings::{SettingsError, TraceSettings};

/// A random trace. Only what occurs in it has a name, numbered in the order of first mention.
pub fn generate(settings: &TraceSettings) -> Result<Trace, SettingsError> {
    let generator = Generator::new(settings)?;
    let mut recorder = Recorder::new(settings, generator.declared_permits());
    for event in generator {
        recorder.push(event).expect("the settings were checked to name no more than a trace can hold");
    }
    Ok(recorder.builder.finish().expect("what is generated can have happened"))
}

/// An empty trace in which everything the generator may mention has the id it will be mentioned by:
/// for writing events as they come, without keeping them.
pub fn names(generator: &Generator) -> Result<TraceBuilder, TooManyNames> {
    let s = &generator.settings;
    let mut builder = TraceBuilder::new();
    (0..s.threads).try_for_each(|id| ThreadId(id).name_in(&mut builder).map(drop))?;
    (0..s.variables).try_for_each(|id| VariableId(id).name_in(&mut builder).map(drop))?;
    (0..s.locks).try_for_each(|id| LockId(id).name_in(&mut builder).map(drop))?;
    (0..s.conditions).try_for_each(|id| ConditionId(id).name_in(&mut builder).map(drop))?;
    (0..s.barriers).try_for_each(|id| BarrierId(id).name_in(&mut builder).map(drop))?;
    (0..s.blocks).try_for_each(|id| BlockId(id).name_in(&mut builder).map(drop))?;
    (0..s.regions).try_for_each(|id| RegionId(id).name_in(&mut builder).map(drop))?;
    (0..s.marks).try_for_each(|id| MarkId(id).name_in(&mut builder).map(drop))?;
    (0..s.locations.max(1)).try_for_each(|id| LocationId(id).name_in(&mut builder).map(drop))?;
    for (id, permits) in generator.declared_permits().iter().enumerate() {
        let semaphore = SemaphoreId::new(id).name_in(&mut builder)?;
        if let Some(permits) = *permits {
            builder.declare_permits(semaphore, permits);
        }
    }
    Ok(builder)
}

/// Something a generator mentions by number.
trait Named: Copy + From<u32> {
    fn number(self) -> u32;

    /// Its id in this trace, by its name.
    fn name_in(self, builder: &mut TraceBuilder) -> Result<Self, TooManyNames>;
}

macro_rules! named {
    ($($id:ident: $method:ident, $name:literal;)*) => {$(
        impl Named for $id {
            #[inline]
            fn number(self) -> u32 {
                self.0
            }

            #[cold]
            fn name_in(self, builder: &mut TraceBuilder) -> Result<Self, TooManyNames> {
                builder.$method(&format!($name, self.0))
            }
        }
    )*};
}

named! {
    ThreadId: thread, "T{}";
    VariableId: variable, "x{}";
    LockId: lock, "l{}";
    ConditionId: condition, "c{}";
    BarrierId: barrier, "b{}";
    SemaphoreId: semaphore, "s{}";
    BlockId: block, "p{}";
    RegionId: region, "a{}";
    LocationId: location, "made-up.c:{}";
}

impl Named for MarkId {
    fn number(self) -> u32 {
        self.0
    }

    /// Four values a name, one of them negative.
    #[cold]
    fn name_in(self, builder: &mut TraceBuilder) -> Result<Self, TooManyNames> {
        builder.mark(&format!("m{}", self.0 / 4), i64::from(self.0 % 4) - 1)
    }
}

/// The id each thing has in the trace, once it was mentioned.
struct NameTable<I>(Vec<Option<I>>);

impl<I: Named> NameTable<I> {
    fn new(count: u32) -> Self {
        NameTable(vec![None; count as usize])
    }

    #[inline]
    fn get(&mut self, id: I, builder: &mut TraceBuilder) -> Result<I, TooManyNames> {
        let known = &mut self.0[id.number() as usize];
        if let Some(known) = *known {
            return Ok(known);
        }
        let named = id.name_in(builder)?;
        *known = Some(named);
        Ok(named)
    }
}

/// Builds a trace of generated events.
struct Recorder {
    builder: TraceBuilder,
    declared: Vec<Option<u32>>,
    threads: NameTable<ThreadId>,
    variables: NameTable<VariableId>,
    locks: NameTable<LockId>,
    conditions: NameTable<ConditionId>,
    barriers: NameTable<BarrierId>,
    semaphores: NameTable<SemaphoreId>,
    blocks: NameTable<BlockId>,
    regions: NameTable<RegionId>,
    marks: NameTable<MarkId>,
    locations: NameTable<LocationId>,
}

impl Recorder {
    fn new(settings: &TraceSettings, declared: &[Option<u32>]) -> Recorder {
        let s = settings;
        Recorder {
            // Beyond that, growing costs little, and there may be fewer.
            builder: TraceBuilder::with_capacity(s.events.min(1 << 20) as usize),
            declared: declared.to_vec(),
            threads: NameTable::new(s.threads),
            variables: NameTable::new(s.variables),
            locks: NameTable::new(s.locks),
            conditions: NameTable::new(s.conditions),
            barriers: NameTable::new(s.barriers),
            semaphores: NameTable::new(s.semaphores),
            blocks: NameTable::new(s.blocks),
            regions: NameTable::new(s.regions),
            marks: NameTable::new(s.marks),
            locations: NameTable::new(s.locations.max(1)),
        }
    }

    #[inline]
    fn push(&mut self, event: Event) -> Result<(), TooManyNames> {
        let b = &mut self.builder;
        let thread = self.threads.get(event.thread, b)?;
        let location = self.locations.get(event.location, b)?;
        let op = match event.op {
            Op::Begin | Op::End | Op::Fence | Op::Branch(_) => event.op,
            Op::Fork(id) => Op::Fork(self.threads.get(id, b)?),
            Op::Join(id) => Op::Join(self.threads.get(id, b)?),
            Op::Read(id) => Op::Read(self.variables.get(id, b)?),
            Op::Write(id) => Op::Write(self.variables.get(id, b)?),
            Op::AtomicRead(id) => Op::AtomicRead(self.variables.get(id, b)?),
            Op::AtomicWrite(id) => Op::AtomicWrite(self.variables.get(id, b)?),
            Op::AtomicUpdate(id) => Op::AtomicUpdate(self.variables.get(id, b)?),
            Op::Request(id) => Op::Request(self.locks.get(id, b)?),
            Op::Acquire(id) => Op::Acquire(self.locks.get(id, b)?),
            Op::Release(id) => Op::Release(self.locks.get(id, b)?),
            Op::RequestShared(id) => Op::RequestShared(self.locks.get(id, b)?),
            Op::AcquireShared(id) => Op::AcquireShared(self.locks.get(id, b)?),
            Op::ReleaseShared(id) => Op::ReleaseShared(self.locks.get(id, b)?),
            Op::Wait(id) => Op::Wait(self.conditions.get(id, b)?),
            Op::Signal(id) => Op::Signal(self.conditions.get(id, b)?),
            Op::Broadcast(id) => Op::Broadcast(self.conditions.get(id, b)?),
            Op::BarrierEnter(id) => Op::BarrierEnter(self.barriers.get(id, b)?),
            Op::BarrierExit(id) => Op::BarrierExit(self.barriers.get(id, b)?),
            Op::Post(id) => Op::Post(self.semaphore(id)?),
            Op::Take(id) => Op::Take(self.semaphore(id)?),
            Op::Allocate(id) => Op::Allocate(self.blocks.get(id, b)?),
            Op::Free(id) => Op::Free(self.blocks.get(id, b)?),
            Op::Mark(id) => Op::Mark(self.marks.get(id, b)?),
            Op::RegionBegin(id) => Op::RegionBegin(self.regions.get(id, b)?),
            Op::RegionEnd(id) => Op::RegionEnd(self.regions.get(id, b)?),
        };
        self.builder.push(thread, op, location);
        Ok(())
    }

    fn semaphore(&mut self, id: SemaphoreId) -> Result<SemaphoreId, TooManyNames> {
        let semaphore = self.semaphores.get(id, &mut self.builder)?;
        if let Some(permits) = self.declared[id.index()] {
            self.builder.declare_permits(semaphore, permits);
        }
        Ok(semaphore)
    }
}
