//! Interned names: each distinct name is stored once, in one buffer, and known by a dense index.
//!
//! [`Names`] is what a trace keeps (8 bits of text and 4 bytes an entry); [`Interner`] adds the
//! hash table that finds a name's index while a trace is being read and is dropped afterwards.

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::HashTable;

/// A table of distinct names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// Where each name ends in `text`; it starts where the one before ends.
    ends: Vec<u32>,
}

impl Names {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name at this index.
    #[inline]
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    /// All names in the order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The index of a name, by looking at each.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.iter().position(|known| known == name)
    }

    /// The same table with other names, or itself if there is no room for them.
    pub(crate) fn renamed<'n>(&'n self, rename: impl Fn(&'n str) -> Cow<'n, str>) -> Names {
        let mut names = Names::default();
        let renamed = self.iter().try_for_each(|name| names.push(&rename(name)).map(drop));
        if renamed.is_ok() { names } else { self.clone() }
    }

    /// Bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    fn push(&mut self, name: &str) -> Result<u32, TooManyNames> {
        let end = self.text.len().checked_add(name.len()).filter(|&end| end <= u32::MAX as usize);
        let index = self.ends.len();
        let (Some(end), true) = (end, index < MAX_NAMES) else {
            return Err(TooManyNames);
        };
        self.text.push_str(name);
        self.ends.push(end as u32);
        Ok(index as u32)
    }
}

/// One id is kept free as the mark of 'none', and thread ids are packed into 27 bits.
const MAX_NAMES: usize = (1 << 27) - 1;

/// A table of names would outgrow its 32-bit offsets or 27-bit ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more distinct names than a trace can hold (2^27 of a kind, 4 GiB of text)")]
pub struct TooManyNames;

/// A table of names that finds the index of a name it has.
///
/// The hash is seeded at random: the names come from files that may be hostile.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    names: Names,
    table: HashTable<Entry>,
    hasher: foldhash::fast::RandomState,
}

/// A name in the table, with half of its hash: the table grows without a look at the names, which lie scattered in memory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u32,
    hash: u32,
}

impl Entry {
    /// What the table goes by: its low bits choose a place, its high ones are compared first.
    fn spread(self) -> u64 {
        spread(self.hash)
    }
}

fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Interner {
    /// Makes room for this number of further names at once.
    pub(crate) fn reserve(&mut self, names: usize) {
        self.table.reserve(names, |entry| entry.spread());
        self.names.ends.reserve(names);
    }

    /// The index of this name, new or known.
    #[inline]
    pub fn intern(&mut self, name: &str) -> Result<u32, TooManyNames> {
        let hash = self.hash(name);
        if let Some(index) = self.find(hash, name) {
            return Ok(index);
        }
        let index = self.names.push(name)?;
        self.table.insert_unique(spread(hash), Entry { index, hash }, |entry| entry.spread());
        Ok(index)
    }

    /// The index of this name if it is known.
    pub fn lookup(&self, name: &str) -> Option<u32> {
        self.find(self.hash(name), name)
    }

    #[inline]
    fn hash(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }

    #[inline]
    fn find(&self, hash: u32, name: &str) -> Option<u32> {
        let is_it = |entry: &Entry| entry.hash == hash && self.names.get(entry.index as usize) == name;
        self.table.find(spread(hash), is_it).map(|entry| entry.index)
    }

    /// The names so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, without the means to find them.
    pub fn into_names(mut self) -> Names {
        self.names.text.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        self.names
    }
}

impl From<Names> for Interner {
    fn from(names: Names) -> Self {
        let mut interner = Interner { names, ..Interner::default() };
        interner.table.reserve(interner.names.len(), |entry| entry.spread());
        for index in 0..interner.names.len() {
            let hash = interner.hash(interner.names.get(index));
            let entry = Entry { index: index as u32, hash };
            interner.table.insert_unique(spread(hash), entry, |entry| entry.spread());
        }
        interner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_once() {
        let mut interner = Interner::default();
        let indices: Vec<u32> = ["a", "", "b", "a", "", "ab"].map(|n| interner.intern(n).unwrap()).to_vec();
        assert_eq!(indices, [0, 1, 2, 0, 1, 3]);
        assert_eq!(interner.lookup("ab"), Some(3));
        assert_eq!(interner.lookup("c"), None);
        let names = interner.into_names();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "", "b", "ab"]);
        assert_eq!(names.find("b"), Some(2));
        assert_eq!(Interner::from(names).lookup("b"), Some(2));
    }
}
