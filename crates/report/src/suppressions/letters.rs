//! Which pairs of letters are in a name, as a few bits: enough to tell most names apart from a pattern without looking for it. With
//! thousands of suppressions and thousands of findings, nearly every pattern is about something else.

/// The pairs of neighbouring bytes in names, each as one of 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LetterPairs([u64; 4]);

impl LetterPairs {
    /// Those of this name as well.
    pub(super) fn add(&mut self, name: &str) {
        for pair in name.as_bytes().windows(2) {
            // Multiplied, so that pairs with a letter in common do not share bits.
            let bit = (u32::from(pair[0]) << 8 | u32::from(pair[1])).wrapping_mul(0x9e37_79b1) >> 24;
            self.0[bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether names with these pairs may have all of the other's. No: they certainly do not.
    pub(super) fn may_have(&self, other: &LetterPairs) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| other & !own == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> LetterPairs {
        let mut pairs = LetterPairs::default();
        names.iter().for_each(|name| pairs.add(name));
        pairs
    }

    #[test]
    fn what_is_in_a_name_has_no_other_pairs() {
        let names = ["conn (a.c:3)#2->ring[1]", "ééa::b", "x", "", "lib*.so", "std::map<int, Üb>::insert"];
        for name in names {
            let ends = || name.char_indices().map(|(at, _)| at).chain([name.len()]);
            for (start, end) in ends().flat_map(|start| ends().map(move |end| (start, end))) {
                let Some(part) = name.get(start..end) else { continue };
                assert!(of(&["other", name]).may_have(&of(&[part])), "{name} {part}");
            }
        }
    }

    #[test]
    fn other_names_are_told_apart() {
        let names = of(&["conn->state", "/home/u/memcached/items.c:120", "item_unlink"]);
        let others = ["queue", "worker_loop", "log.c", "bank"];
        assert_eq!(others.iter().filter(|other| names.may_have(&of(&[other]))).count(), 0);
    }
}
