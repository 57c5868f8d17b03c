//! The lives of blocks of memory, and the accesses that belong to each.
//!
//! Which variable belongs to which block, [`BlockNames`] knows. A life lasts from an allocation to the next of the same block;
//! what is accessed before the first allocation belongs to no life.

use rustc_hash::FxHashMap;
use trace::{BlockId, BlockNames, EventId, Op, Symbols, ThreadId, Trace, VariableId};

/// One life of a block.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) block: BlockId,
    pub(crate) allocate: EventId,
    pub(crate) free: Option<EventId>,
    /// What other threads free once more.
    pub(crate) freed_again: Vec<EventId>,
    /// The accesses to its variables, in the order of the trace.
    pub(crate) uses: Vec<EventId>,
    /// The writes that give each variable a value that does not come from itself: the first access of a thread, if it writes
    /// and does not read.
    pub(crate) initialising: FxHashMap<VariableId, Vec<EventId>>,
    /// What each variable held when the life began: the last write before, if any.
    pub(crate) stale: FxHashMap<VariableId, EventId>,
    /// Who has accessed each variable.
    accessed: FxHashMap<VariableId, Vec<ThreadId>>,
}

impl Life {
    fn begin(block: BlockId, allocate: EventId) -> Life {
        Life {
            block,
            allocate,
            free: None,
            freed_again: Vec::new(),
            uses: Vec::new(),
            initialising: FxHashMap::default(),
            stale: FxHashMap::default(),
            accessed: FxHashMap::default(),
        }
    }
}

/// All lives of all blocks.
pub(crate) fn lives(trace: &Trace) -> Vec<Life> {
    let blocks = blocks_of_variables(trace.symbols());
    let mut lives: Vec<Life> = Vec::new();
    let mut current: FxHashMap<BlockId, usize> = FxHashMap::default();
    let mut written: FxHashMap<VariableId, EventId> = FxHashMap::default();
    for (event, thread, op) in trace.events() {
        match op {
            Op::Allocate(block) => {
                current.insert(block, lives.len());
                lives.push(Life::begin(block, event));
            }
            Op::Free(block) => {
                if let Some(&life) = current.get(&block) {
                    let life = &mut lives[life];
                    let first = *life.free.get_or_insert(event);
                    if trace.thread(first) != thread {
                        life.freed_again.push(event);
                    }
                }
            }
            _ => {}
        }
        let Some(access) = op.access() else { continue };
        let variable = access.variable;
        if let Some(&life) = blocks[variable.index()].and_then(|block| current.get(&block)) {
            let life = &mut lives[life];
            life.uses.push(event);
            let accessed = life.accessed.entry(variable).or_default();
            if let Some(&before) = written.get(&variable).filter(|_| accessed.is_empty()) {
                life.stale.insert(variable, before);
            }
            if !accessed.contains(&thread) {
                accessed.push(thread);
                if op.reads().is_none() {
                    life.initialising.entry(variable).or_default().push(event);
                }
            }
        }
        if access.writes {
            written.insert(variable, event);
        }
    }
    lives
}

/// The block of each variable.
fn blocks_of_variables(symbols: &Symbols) -> Vec<Option<BlockId>> {
    let blocks = BlockNames::of(symbols);
    symbols.variables.iter().map(|name| blocks.block_of(name)).collect()
}
