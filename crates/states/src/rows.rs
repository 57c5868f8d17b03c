//! The last thread's places as bits: given the places of all the others, those it can stand at are found 64 at a
//! time. A *row* is all states that differ in the last thread only.

use std::ops::RangeInclusive;

use crate::frames::Frames;
use crate::locks;
use crate::rule::Rule;

/// Tables of more words are not made; places are then looked at one by one.
const MOST_WORDS: usize = 1 << 22;

/// What the last thread's places allow, as bits, 64 to a word.
pub(crate) struct Rows<'a> {
    rule: Rule<'a>,
    thread: usize,
    /// Places that the rule admits by themselves.
    admitted: Vec<u64>,
    /// Places that bring no locks.
    free: Vec<u64>,
    /// Locks that this thread ever has, in any form.
    wanted: Vec<u64>,
    table: Option<Table>,
}

/// Where the thread has each lock.
struct Table {
    /// By lock: its rows, if the thread ever has it.
    row: Vec<u32>,
    /// By row and word: places with it in any form.
    any: Vec<u64>,
    /// By row and word: places with it exclusively.
    exclusive: Vec<u64>,
    /// Words of a row.
    words: usize,
}

/// The words that a range of places touches.
pub(crate) fn words(range: &RangeInclusive<u32>) -> std::ops::Range<usize> {
    if range.is_empty() { 0..0 } else { *range.start() as usize / 64..*range.end() as usize / 64 + 1 }
}

/// The places of a word that a range has.
#[inline]
pub(crate) fn within(range: &RangeInclusive<u32>, word: usize) -> u64 {
    let mut places = u64::MAX;
    if *range.start() as usize > word * 64 {
        places &= u64::MAX << (range.start() % 64);
    }
    if (*range.end() as usize) < word * 64 + 63 {
        places &= u64::MAX >> (63 - range.end() % 64);
    }
    places
}

impl<'a> Rows<'a> {
    pub(crate) fn new(rule: Rule<'a>, thread: usize) -> Self {
        let places = rule.loset.lengths[thread] as usize + 1;
        let bits = |wanted: &dyn Fn(u32) -> bool| {
            let mut words = vec![0u64; places.div_ceil(64)];
            let set = (0..places).filter(|&place| wanted(place as u32));
            set.for_each(|place| words[place / 64] |= 1 << (place % 64));
            words
        };
        let mut wanted = vec![0; rule.width()];
        if let Some(sets) = rule.sets {
            (0..places).for_each(|place| locks::unite(&mut wanted, sets.at(thread, place as u32)));
        }
        wanted.truncate(wanted.len() / 2);
        let has_none = |place| rule.sets.is_none_or(|sets| sets.at(thread, place).iter().all(|&w| w == 0));
        Rows {
            rule,
            thread,
            admitted: bits(&|place| rule.admits(thread, place)),
            free: bits(&has_none),
            table: Table::new(rule, thread, &wanted),
            wanted,
        }
    }

    /// Words of a row.
    pub(crate) fn words(&self) -> usize {
        self.admitted.len()
    }

    /// Places of a word that bring no locks.
    #[inline]
    pub(crate) fn free(&self, word: usize) -> u64 {
        self.free[word]
    }

    /// The places of a word, within the range, that fit what the other threads chose. All levels before the last are chosen.
    #[inline]
    pub(crate) fn fitting(&self, frames: &Frames<'_>, range: &RangeInclusive<u32>, word: usize) -> u64 {
        let places = self.admitted[word] & within(range, word);
        if !frames.is_locked(frames.levels() - 1) || self.wanted.is_empty() {
            return places;
        }
        let others = frames.locks_before(frames.levels() - 1);
        match &self.table {
            Some(table) => places & !table.excluded(others, &self.wanted, word),
            None => self.one_by_one(others, places, word),
        }
    }

    fn one_by_one(&self, others: &[u64], places: u64, word: usize) -> u64 {
        let Some(sets) = self.rule.sets else { return places };
        let fits = |place: u32| !locks::exclude(others, sets.at(self.thread, word as u32 * 64 + place));
        bits(places).filter(|&place| fits(place)).fold(0, |fitting, place| fitting | 1 << place)
    }
}

impl Table {
    fn new(rule: Rule<'_>, thread: usize, wanted: &[u64]) -> Option<Table> {
        let sets = rule.sets?;
        let places = rule.loset.lengths[thread] + 1;
        let words = (places as usize).div_ceil(64);
        let count: u32 = wanted.iter().map(|word| word.count_ones()).sum();
        if count as usize * words > MOST_WORDS {
            return None;
        }
        let mut row = vec![u32::MAX; wanted.len() * 64];
        for (index, lock) in set_bits(wanted).enumerate() {
            row[lock] = index as u32;
        }
        let (mut any, mut exclusive) = (vec![0; count as usize * words], vec![0; count as usize * words]);
        for place in 0..places {
            let (all, alone) = sets.at(thread, place).split_at(wanted.len());
            let at = |lock: usize| row[lock] as usize * words + place as usize / 64;
            set_bits(all).for_each(|lock| any[at(lock)] |= 1 << (place % 64));
            set_bits(alone).for_each(|lock| exclusive[at(lock)] |= 1 << (place % 64));
        }
        Some(Table { row, any, exclusive, words })
    }

    /// The places of a word that exclude someone who has these locks.
    #[inline]
    fn excluded(&self, others: &[u64], wanted: &[u64], word: usize) -> u64 {
        let (any, exclusive) = others.split_at(wanted.len());
        let mut excluded = 0;
        for index in 0..wanted.len() {
            for bit in bits(any[index] & wanted[index]) {
                let at = self.row[index * 64 + bit as usize] as usize * self.words + word;
                // Who has it exclusively excludes every form of it, others only exclusive ones.
                let alone = exclusive[index] >> bit & 1 == 1;
                excluded |= if alone { self.any[at] } else { self.exclusive[at] };
            }
        }
        excluded
    }
}

/// The bits of a word, lowest first.
#[inline]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

fn set_bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| bits(word).map(move |bit| index * 64 + bit as usize))
}
