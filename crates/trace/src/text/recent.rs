//! A cache in front of a table of names: short names seen before are found by one comparison.
//!
//! Interning hashes a name, probes, and then compares it where it is stored: four places in memory.
//! Here a name of up to 16 bytes *is* its key, next to its id. The cache has a fixed size, so a
//! trace with many names costs no more memory; names that crowd each other out are merely looked
//! up as before. It holds names as they are spelled, so that a hit need not decode. Numerals are not among
//! them: they have a cache of their own.

use super::numerals::{Numeral, NumeralIds};

/// Names up to this many bytes have a key.
const MAX_SHORT: usize = 16;

/// A name of up to 16 bytes, followed by zeroes. With its length it is unique.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    head: u64,
    tail: u64,
    length: u32,
}

/// A key and its id. Nested, the key would be padded: 32 bytes instead of 24, and more cache misses.
#[derive(Clone, Copy)]
struct Slot {
    head: u64,
    tail: u64,
    length: u32,
    id: u32,
}

/// No name is empty, so this matches none.
const EMPTY: Slot = Slot { head: 0, tail: 0, length: 0, id: 0 };

impl Slot {
    #[inline]
    fn new(key: Key, id: u32) -> Self {
        Slot { head: key.head, tail: key.tail, length: key.length, id }
    }

    #[inline]
    fn key(self) -> Key {
        Key { head: self.head, tail: self.tail, length: self.length }
    }
}

/// Ids of names seen lately, at most `MOST` of them. `MOST` is a power of two.
pub(super) struct Recent<const MOST: usize> {
    numerals: NumeralIds,
    /// As many as a power of two. They grow with the misses, so that a short text costs little.
    slots: Vec<Slot>,
    /// Misses since it grew.
    misses: usize,
}

const FEWEST: usize = 64;

impl<const MOST: usize> Default for Recent<MOST> {
    fn default() -> Self {
        const { assert!(MOST.is_power_of_two() && MOST >= FEWEST) };
        Recent { numerals: NumeralIds::default(), slots: vec![EMPTY; FEWEST], misses: 0 }
    }
}

impl<const MOST: usize> Recent<MOST> {
    /// The id of the name at `start..end` of the text, remembered or else interned.
    #[inline]
    pub(super) fn id<E>(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        intern: impl FnOnce(&str) -> Result<u32, E>,
    ) -> Result<u32, E> {
        let Some(window) = text.as_bytes().get(start..).and_then(<[u8]>::first_chunk::<MAX_SHORT>) else {
            return intern(&text[start..end]);
        };
        let (words, _) = window.as_chunks::<8>();
        match Numeral::of(words[0], end - start) {
            Some(numeral) => match self.numerals.get(numeral) {
                Some(id) => Ok(id),
                None => {
                    let id = self.other(window, text, start, end, intern)?;
                    self.numerals.learn(numeral, id);
                    Ok(id)
                }
            },
            None => self.other(window, text, start, end, intern),
        }
    }

    /// The id of a name that is no known numeral.
    fn other<E>(
        &mut self,
        window: &[u8; MAX_SHORT],
        text: &str,
        start: usize,
        end: usize,
        intern: impl FnOnce(&str) -> Result<u32, E>,
    ) -> Result<u32, E> {
        let Some(key) = Key::of(window, end - start) else {
            return intern(&text[start..end]);
        };
        // Each name has two slots, and a newcomer takes the place of the one used less lately.
        let index = key.hash() as usize & (self.slots.len() - 1);
        let slot = self.slots[index];
        if slot.key() == key {
            return Ok(slot.id);
        }
        let other = self.slots[index ^ 1];
        let is_hit = other.key() == key;
        let id = if is_hit { other.id } else { intern(&text[start..end])? };
        self.slots[index ^ 1] = slot;
        self.slots[index] = Slot::new(key, id);
        if !is_hit {
            self.note_miss();
        }
        Ok(id)
    }

    #[cold]
    fn note_miss(&mut self) {
        self.misses += 1;
        if self.misses > self.slots.len() && self.slots.len() < MOST {
            let larger = vec![EMPTY; self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                let index = slot.key().hash() as usize & (self.slots.len() - 1);
                self.slots[index ^ 1] = std::mem::replace(&mut self.slots[index], slot);
            }
            self.misses = 0;
        }
    }
}

/// Ids of names that come many times in a row, as that of the thread does: the last one is compared first.
#[derive(Default)]
pub(super) struct Repeated<const MOST: usize> {
    /// The last name, if it is short: its bytes, followed by zeroes, and its length; 0 if there is none.
    last: u64,
    length: usize,
    id: u32,
    recent: Recent<MOST>,
}

impl<const MOST: usize> Repeated<MOST> {
    /// The id of the name at `start..end` of the text, remembered or else interned.
    #[inline]
    pub(super) fn id<E>(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        intern: impl FnOnce(&str) -> Result<u32, E>,
    ) -> Result<u32, E> {
        let length = end - start;
        let window = text.as_bytes().get(start..).and_then(<[u8]>::first_chunk::<8>);
        let (Some(window), 1..=8) = (window, length) else {
            return self.recent.id(text, start, end, intern);
        };
        let name = u64::from_le_bytes(*window) & (u64::MAX >> (64 - 8 * length));
        if name != self.last || length != self.length {
            self.id = self.recent.id(text, start, end, intern)?;
            (self.last, self.length) = (name, length);
        }
        Ok(self.id)
    }
}

impl Key {
    /// The key of the name of this length that the window starts with, if it is short.
    #[inline]
    fn of(window: &[u8; MAX_SHORT], length: usize) -> Option<Key> {
        if length > MAX_SHORT || length == 0 {
            return None;
        }
        let all = u128::from_le_bytes(*window) & (u128::MAX >> (8 * (MAX_SHORT - length)));
        Some(Key { head: all as u64, tail: (all >> 64) as u64, length: length as u32 })
    }

    /// A folded product: every bit of the name moves every bit of the hash.
    #[inline]
    fn hash(self) -> u64 {
        let head = u128::from(self.head ^ 0x9e37_79b9_7f4a_7c15);
        let tail = u128::from(self.tail ^ 0xd1b5_4a32_d192_ed03);
        let product = head * tail;
        product as u64 ^ (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin is the table itself: through the cache every name keeps its id.
        #[test]
        fn ids_are_those_of_the_table(names in prop::collection::vec("[ab\0é]{1,9}|[xy]?[0-9]{1,4}", 1..600)) {
            let text = names.concat();
            let (mut cache, mut repeated) = (Recent::<128>::default(), Repeated::<128>::default());
            let [mut cached, mut again, mut plain] = [(); 3].map(|()| crate::Interner::default());
            let mut start = 0;
            for name in &names {
                let end = start + name.len();
                let id = plain.intern(name);
                prop_assert_eq!(cache.id(&text, start, end, |name| cached.intern(name)), id);
                for _ in 0..2 {
                    prop_assert_eq!(repeated.id(&text, start, end, |name| again.intern(name)), id);
                }
                start = end;
            }
        }
    }
}
