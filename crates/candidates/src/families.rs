//! Families of variables: the elements of one array, and what lies at the same offset in blocks from one allocation. A bug in one of them is
//! the same bug in the others, so searches look for one instance in each family.

use findings::family;
use rustc_hash::FxHashMap;
use trace::{BlockId, Names, Trace, VariableId};

/// The number of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FamilyId(u32);

/// The family of each variable and each block.
pub(crate) struct Families {
    variables: Vec<FamilyId>,
    blocks: Vec<FamilyId>,
}

impl Families {
    /// One pass over the names.
    pub(crate) fn of(trace: &Trace) -> Families {
        let symbols = trace.symbols();
        Families { variables: families(&symbols.variables), blocks: families(&symbols.blocks) }
    }

    /// That of a variable.
    pub(crate) fn of_variable(&self, variable: VariableId) -> FamilyId {
        self.variables[variable.index()]
    }

    /// That of a block.
    pub(crate) fn of_block(&self, block: BlockId) -> FamilyId {
        self.blocks[block.index()]
    }
}

fn families(names: &Names) -> Vec<FamilyId> {
    let mut numbers = FxHashMap::default();
    let each = (0..names.len()).map(|index| {
        let next = FamilyId(numbers.len() as u32);
        *numbers.entry(family(names.get(index))).or_insert(next)
    });
    each.collect()
}
