//! What the next event of a schedule depends on: the values of variables, the sections that are open, and the permits that are left.

use trace::{EventId, LockId, SemaphoreId, ThreadId, Trace, VariableId};

/// A section of a lock that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenSection {
    pub(crate) thread: ThreadId,
    pub(crate) acquire: EventId,
    pub(crate) shared: bool,
}

/// A state that events change.
pub(crate) trait State {
    /// The last write of a variable; none: it has its initial value.
    fn value(&self, variable: VariableId) -> Option<EventId>;

    fn write(&mut self, variable: VariableId, write: EventId);

    /// An open section of a lock for which this holds.
    fn find_open(&self, lock: LockId, holds: impl Fn(OpenSection) -> bool) -> Option<OpenSection>;

    fn open(&mut self, lock: LockId, section: OpenSection);

    /// Ends the section that an acquire began.
    fn close(&mut self, lock: LockId, acquire: EventId);

    fn permits(&self, semaphore: SemaphoreId) -> i64;

    fn add_permits(&mut self, semaphore: SemaphoreId, more: i64);
}

/// The state at the start of a run, and where events take it from there.
pub(crate) struct StateFromStart {
    open: Vec<Vec<OpenSection>>,
    permits: Vec<i64>,
    values: Vec<Option<EventId>>,
}

impl StateFromStart {
    pub(crate) fn new(trace: &Trace) -> Self {
        let symbols = trace.symbols();
        let initial = |s: usize| i64::from(trace.initial_permits(SemaphoreId::new(s)));
        StateFromStart {
            open: vec![Vec::new(); symbols.locks.len()],
            permits: (0..symbols.semaphores.len()).map(initial).collect(),
            values: vec![None; symbols.variables.len()],
        }
    }
}

impl State for StateFromStart {
    fn value(&self, variable: VariableId) -> Option<EventId> {
        self.values[variable.index()]
    }

    fn write(&mut self, variable: VariableId, write: EventId) {
        self.values[variable.index()] = Some(write);
    }

    fn find_open(&self, lock: LockId, holds: impl Fn(OpenSection) -> bool) -> Option<OpenSection> {
        self.open[lock.index()].iter().copied().find(|&section| holds(section))
    }

    fn open(&mut self, lock: LockId, section: OpenSection) {
        self.open[lock.index()].push(section);
    }

    fn close(&mut self, lock: LockId, acquire: EventId) {
        self.open[lock.index()].retain(|section| section.acquire != acquire);
    }

    fn permits(&self, semaphore: SemaphoreId) -> i64 {
        self.permits[semaphore.index()]
    }

    fn add_permits(&mut self, semaphore: SemaphoreId, more: i64) {
        self.permits[semaphore.index()] += more;
    }
}
