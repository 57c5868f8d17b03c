//! Choosing the places of a state thread by thread, as QuickLex does: given the places of the first threads, those
//! the next one can stand at are a range, and each of them can be completed to a consistent state, so
//! every attempt is consistent.
//!
//! A level is the place of a thread in the order of choosing. What a choice leaves to the later levels (bounds, locks)
//! is a row; a choice that changes nothing shares the row of the level before, which makes it free.

use std::ops::RangeInclusive;

use crate::locks;
use crate::rule::Rule;

/// The rows of all levels for the choices made so far.
pub(crate) struct Frames<'a> {
    pub(crate) rule: Rule<'a>,
    /// The thread of each level.
    pub(crate) threads: Vec<usize>,
    /// The later levels whose bounds depend on the choice at each level.
    affected: Vec<Vec<usize>>,
    /// Whether any place of each level has locks.
    locks: Vec<bool>,
    /// By row and level: the least place, and the greatest.
    least: Vec<u32>,
    most: Vec<u32>,
    /// By row: the locks of the levels before.
    sets: Vec<u64>,
    /// By level: the rows that hold for it.
    bounds_row: Vec<usize>,
    sets_row: Vec<usize>,
}

impl<'a> Frames<'a> {
    /// For the states of these threads, the others staying at their start. Where there is no time to find out what depends on what, nothing
    /// that follows counts.
    pub(crate) fn new(rule: Rule<'a>, threads: &[usize]) -> Self {
        let (loset, k) = (rule.loset, threads.len());
        let depends = |a: usize, b: usize| {
            let length = loset.lengths[b];
            if loset.is_out_of_time() {
                return false;
            }
            (0..=loset.lengths[a])
                .any(|place| loset.needs(a, place)[b] > 0 || loset.limits(a, place)[b] < length)
        };
        let affected = (0..k)
            .map(|level| (level + 1..k).filter(|&later| depends(threads[level], threads[later])).collect());
        let has_locks = |&thread: &usize| {
            let sets = rule.sets;
            sets.is_some_and(|sets| {
                (0..=loset.lengths[thread]).any(|place| sets.at(thread, place).iter().any(|&word| word != 0))
            })
        };
        let mut most = vec![0; (k + 1) * k];
        threads.iter().enumerate().for_each(|(level, &thread)| most[level] = loset.lengths[thread]);
        Frames {
            rule,
            threads: threads.to_vec(),
            affected: affected.collect(),
            locks: threads.iter().map(has_locks).collect(),
            least: vec![0; (k + 1) * k],
            most,
            sets: vec![0; (k + 1) * rule.width()],
            bounds_row: vec![0; k + 1],
            sets_row: vec![0; k + 1],
        }
    }

    pub(crate) fn levels(&self) -> usize {
        self.threads.len()
    }

    /// The places of a level that are consistent with the choices before it.
    #[inline]
    pub(crate) fn range(&self, level: usize) -> RangeInclusive<u32> {
        let at = self.bounds_row[level] * self.threads.len() + level;
        self.least[at]..=self.most[at]
    }

    /// The places of a level, the choices at the levels from `first` on not mattering to it.
    pub(crate) fn range_after(&self, first: usize, level: usize) -> RangeInclusive<u32> {
        let at = self.bounds_row[first] * self.threads.len() + level;
        self.least[at]..=self.most[at]
    }

    /// Whether the choice at a level matters to the bounds of later ones.
    pub(crate) fn bounds_later(&self, level: usize) -> bool {
        !self.affected[level].is_empty()
    }

    /// Whether the choices before a level brought any locks.
    #[inline]
    pub(crate) fn is_locked(&self, level: usize) -> bool {
        self.sets_row[level] != 0
    }

    /// The locks that the choices before a level brought.
    #[inline]
    pub(crate) fn locks_before(&self, level: usize) -> &[u64] {
        let (width, row) = (self.rule.width(), self.sets_row[level]);
        &self.sets[row * width..(row + 1) * width]
    }

    /// The first level from which on no choice matters to a later one, nor brings locks: above it are all combinations of the ranges.
    pub(crate) fn independent_from(&self) -> usize {
        let matters = |&level: &usize| self.locks[level] || !self.affected[level].is_empty();
        match self.rule.admits_all() {
            true => (0..self.levels()).rev().find(matters).map_or(0, |level| level + 1),
            false => self.levels(),
        }
    }

    /// No more states than this are above the choices before a level.
    pub(crate) fn most_states(&self, level: usize) -> u64 {
        let (k, row) = (self.threads.len(), self.bounds_row[level]);
        let sides = (row * k + level..(row + 1) * k).map(|at| u64::from(self.most[at] - self.least[at]) + 1);
        sides.fold(1, u64::saturating_mul)
    }

    /// Makes a choice within the range of a level. `false`: the rule does not allow it.
    #[inline]
    pub(crate) fn choose(&mut self, level: usize, place: u32) -> bool {
        let thread = self.threads[level];
        if !self.rule.admits(thread, place) {
            return false;
        }
        self.sets_row[level + 1] = self.sets_row[level];
        if self.locks[level] && !self.choose_locks(level, thread, place) {
            return false;
        }
        self.bounds_row[level + 1] = self.bounds_row[level];
        if !self.affected[level].is_empty() {
            self.choose_bounds(level, thread, place);
        }
        true
    }

    #[inline]
    fn choose_locks(&mut self, level: usize, thread: usize, place: u32) -> bool {
        let Some(sets) = self.rule.sets else { return true };
        let (width, row) = (sets.width(), self.sets_row[level]);
        let own = sets.at(thread, place);
        if locks::exclude(&self.sets[row * width..(row + 1) * width], own) {
            return false;
        }
        if own.iter().any(|&word| word != 0) {
            self.sets.copy_within(row * width..(row + 1) * width, (level + 1) * width);
            locks::unite(&mut self.sets[(level + 1) * width..(level + 2) * width], own);
            self.sets_row[level + 1] = level + 1;
        }
        true
    }

    fn choose_bounds(&mut self, level: usize, thread: usize, place: u32) {
        let (k, row) = (self.threads.len(), self.bounds_row[level]);
        let rest = row * k + level + 1..(row + 1) * k;
        let to = (level + 1) * k;
        self.least.copy_within(rest.clone(), to + level + 1);
        self.most.copy_within(rest, to + level + 1);
        let (needs, limits) = (self.rule.loset.needs(thread, place), self.rule.loset.limits(thread, place));
        for &later in &self.affected[level] {
            let other = self.threads[later];
            self.least[to + later] = self.least[to + later].max(needs[other]);
            self.most[to + later] = self.most[to + later].min(limits[other]);
        }
        self.bounds_row[level + 1] = level + 1;
    }

    /// All that the states above the choices before a level depend on: equal keys, equally many states.
    /// `wanted` are the locks that matter from this level on.
    pub(crate) fn key(&self, level: usize, wanted: &[u64]) -> Box<[u32]> {
        let (k, width) = (self.threads.len(), self.rule.width());
        let (row, sets_row) = (self.bounds_row[level], self.sets_row[level]);
        let bounds = self.least[row * k + level..(row + 1) * k].iter().zip(&self.most[row * k + level..]);
        let words = self.sets[sets_row * width..(sets_row + 1) * width].iter().zip(wanted);
        let words =
            words.map(|(word, wanted)| word & wanted).flat_map(|word| [word as u32, (word >> 32) as u32]);
        bounds.flat_map(|(&least, &most)| [least, most]).chain(words).collect()
    }
}
