//! Which block of memory something belongs to, by its name.
//!
//! Something belongs to the block `b` if it is named `b`, or `b` followed by `->`, `.`, `[` or `+` and whatever else; if several blocks fit,
//! to the one with the longest name.

use std::collections::{BTreeSet, HashMap};

use crate::{BlockId, Symbols, VariableId};

/// The blocks of a trace by their names.
#[derive(Clone, Debug)]
pub struct BlockNames<'s> {
    by_name: HashMap<&'s str, BlockId>,
    /// How long they are, in bytes: the only beginnings of a name that are worth looking up, and there are few, however many parts a
    /// name has.
    lengths: BTreeSet<usize>,
}

impl<'s> BlockNames<'s> {
    /// Those of a trace.
    pub fn of(symbols: &'s Symbols) -> Self {
        let named = (0..symbols.blocks.len()).map(|index| (symbols.blocks.get(index), BlockId::new(index)));
        let by_name: HashMap<&str, BlockId> = named.collect();
        let lengths = by_name.keys().map(|name| name.len()).collect();
        BlockNames { by_name, lengths }
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
        let is_end = |end: usize| {
            name.is_char_boundary(end)
                && (name[end..].is_empty()
                    || name[end..].starts_with(['.', '[', '+'])
                    || name[end..].starts_with("->"))
        };
        let ends = self.lengths.range(..=name.len()).rev().copied().filter(|&end| is_end(end));
        ends.into_iter().find_map(|end| self.by_name.get(&name[..end]).copied())
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

    /// Looks up every beginning of a name that ends at a sign.
    fn naive(blocks: &BlockNames<'_>, name: &str) -> Option<BlockId> {
        let is_end = |&(end, sign): &(usize, &str)| sign != "-" || name[end..].starts_with("->");
        let ends = name.rmatch_indices(['-', '.', '[', '+']).filter(is_end).map(|(end, _)| end);
        std::iter::once(name.len()).chain(ends).find_map(|end| blocks.by_name.get(&name[..end]).copied())
    }

    proptest::proptest! {
        #[test]
        fn only_lengths_of_blocks_need_be_looked_at(
            blocks in proptest::collection::vec("[bä+.>-]{1,5}", 0..8),
            names in proptest::collection::vec("[bä+.>-]{1,9}", 0..20),
        ) {
            let mut builder = crate::TraceBuilder::default();
            for block in &blocks {
                builder.block(block).unwrap();
            }
            let trace = builder.finish().unwrap();
            let blocks = BlockNames::of(trace.symbols());
            for name in names {
                proptest::prop_assert_eq!(blocks.block_of(&name), naive(&blocks, &name), "{}", name);
            }
        }
    }

    /// Every sign may be the end of a block: to look up half a million beginnings of one name took longer than a minute.
    #[test]
    fn a_name_of_many_parts_is_looked_up_quickly() {
        let mut builder = crate::TraceBuilder::default();
        builder.block("b").unwrap();
        let trace = builder.finish().unwrap();
        let name = format!("b{}", "+".repeat(1_000_000));
        let started = std::time::Instant::now();
        assert!(BlockNames::of(trace.symbols()).block_of(&name).is_some());
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }
}
