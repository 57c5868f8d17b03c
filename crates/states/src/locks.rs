//! Sets of locks for every place a thread can stand at: one bit a lock, those held in any form and those
//! held exclusively.

/// The locks that go with having done `n` events of a thread, for all threads and all `n`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    words: usize,
    /// By thread: `2 * words` words a place; any form first, then exclusive.
    bits: Vec<Vec<u64>>,
}

impl Sets {
    /// No lock anywhere.
    pub(crate) fn new(locks: usize, lengths: &[u32]) -> Sets {
        let words = locks.div_ceil(64);
        let bits = lengths.iter().map(|&length| vec![0; 2 * words * (length as usize + 1)]).collect();
        Sets { words, bits }
    }

    /// How many bytes that takes.
    pub(crate) fn bytes(locks: usize, lengths: &[u32]) -> u64 {
        let places: u64 = lengths.iter().map(|&length| u64::from(length) + 1).sum();
        places.saturating_mul(16 * locks.div_ceil(64) as u64)
    }

    pub(crate) fn insert(&mut self, thread: usize, place: u32, lock: u32, shared: bool) {
        let start = 2 * self.words * place as usize;
        let (word, bit) = (lock as usize / 64, 1 << (lock % 64));
        self.bits[thread][start + word] |= bit;
        if !shared {
            self.bits[thread][start + self.words + word] |= bit;
        }
    }

    /// Words of one set: zero if there are no locks to speak of.
    pub(crate) fn width(&self) -> usize {
        2 * self.words
    }

    #[inline]
    pub(crate) fn at(&self, thread: usize, place: u32) -> &[u64] {
        let start = 2 * self.words * place as usize;
        &self.bits[thread][start..start + 2 * self.words]
    }
}

/// Whether threads that have these locks exclude each other: one in any form, the other exclusively.
#[inline]
pub(crate) fn exclude(a: &[u64], b: &[u64]) -> bool {
    let words = a.len() / 2;
    let (any_a, exclusive_a) = a.split_at(words);
    let (any_b, exclusive_b) = b.split_at(words);
    (0..words).any(|i| (any_a[i] & exclusive_b[i]) | (exclusive_a[i] & any_b[i]) != 0)
}

/// Both together.
#[inline]
pub(crate) fn unite(into: &mut [u64], other: &[u64]) {
    for (word, other) in into.iter_mut().zip(other) {
        *word |= other;
    }
}
