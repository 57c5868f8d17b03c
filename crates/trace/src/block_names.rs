//! Which block of memory something belongs to, by its name.
//!
//! Something belongs to the block `b` if it is named `b`, or `b` followed by `->`, `.`, `[` or `+` and whatever else; if several blocks fit,
//! to the one with the longest name.

use std::collections::HashMap;

use crate::{BlockId, Symbols, VariableId};

/// The blocks of a trace by their names.
#[derive(Clone, Debug)]
pub struct BlockNames<'s>(HashMap<&'s str, BlockId>);

impl<'s> BlockNames<'s> {
    /// Those of a trace.
    pub fn of(symbols: &'s Symbols) -> Self {
        let named = (0..symbols.blocks.len()).map(|index| (symbols.blocks.get(index), BlockId::new(index)));
        BlockNames(named.collect())
    }

    /// The variables that each block holds.
    pub fn variables(&self, symbols: &Symbols) -> HashMap<BlockId, Vec<VariableId>> {
        let mut held: HashMap<BlockId, Vec<VariableId>> = HashMap::new();
        for (index, name) in symbols.variables.iter().enumerate() {
            if let Some(block) = self.block_of(name) {
                held.entry(block).or_default().push(VariableId::new(index));
            }
        }
        held
    }

    /// The block that the variable or lock of this name belongs to.
    pub fn block_of(&self, name: &str) -> Option<BlockId> {
        if self.0.is_empty() {
            return None;
        }
        let is_end = |&(end, sign): &(usize, &str)| sign != "-" || name[end..].starts_with("->");
        let ends = name.rmatch_indices(['-', '.', '[', '+']).filter(is_end).map(|(end, _)| end);
        std::iter::once(name.len()).chain(ends).find_map(|end| self.0.get(&name[..end]).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_fits_is_the_block() {
        let mut builder = crate::TraceBuilder::default();
        for block in ["b", "b[1]", "conn (a.c:3)", "conn (a.c:3)#2"] {
            builder.block(block).unwrap();
        }
        let trace = builder.finish().unwrap();
        let blocks = BlockNames::of(trace.symbols());
        let of = |name| blocks.block_of(name).map(|block| trace.symbols().block(block));
        assert_eq!(of("b"), Some("b"));
        assert_eq!(of("b[0].x"), Some("b"));
        assert_eq!(of("b[1].x+8"), Some("b[1]"));
        assert_eq!(of("conn (a.c:3)->state"), Some("conn (a.c:3)"));
        assert_eq!(of("conn (a.c:3)#2->next[1]"), Some("conn (a.c:3)#2"));
        assert_eq!((of("bank"), of("b-x"), of("conn (a.c:3)#3")), (None, None, None));
    }
}
