//! All states of a class, each exactly once, in lexical order (paper 2, section 6), storing nothing of what was
//! visited but a window of fixed size: memory O(k² + events), whatever the number of states.
//!
//! Consistency and compatibility are kept thread by thread ([`crate::frames`]) and, for the last thread, 64 places at
//! a time ([`crate::rows`]). Strong feasibility and reachability are asked of a whole state, and only where
//! no neighbour already walked leads to it.

use std::ops::ControlFlow;

use trace::Trace;

use crate::budget::{Exhausted, StateLimits};
use crate::class::Class;
use crate::frames::Frames;
use crate::judge::{Judge, Judgement};
use crate::loset::Loset;
use crate::pairs::Pairs;
use crate::reachable_window::ReachableWindow;
use crate::rows::{Rows, bits, within, words};
use crate::rule::Rule;

/// Shows every state of a class to `visit` until it breaks off. `loset` is that of the trace.
pub fn walk(
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: StateLimits,
    mut visit: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    let threads: Vec<usize> = (0..loset.threads()).collect();
    if threads.is_empty() {
        return Ok(visit(&[]));
    }
    let judge = Judge::new(trace, loset, class, limits);
    let mut walker = Walker::new(Rule::of(loset, class), judge, &threads);
    walker.allow(limits.states);
    let walked = walker.stretch(&[], &mut |row| row.visit(&mut visit));
    halted(walked)
}

pub(crate) fn halted(walked: Result<(), Halt>) -> Result<ControlFlow<()>, Exhausted> {
    match walked {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(Halt::Broken) => Ok(ControlFlow::Break(())),
        Err(Halt::Exhausted(exhausted)) => Err(exhausted),
    }
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Broken,
    Exhausted(Exhausted),
}

impl From<Exhausted> for Halt {
    fn from(exhausted: Exhausted) -> Halt {
        Halt::Exhausted(exhausted)
    }
}

/// Up to 64 states of a class that differ in the last thread only.
pub(crate) struct Row<'w> {
    state: &'w mut [u32],
    last: usize,
    /// The place that the lowest bit stands for.
    base: u32,
    pub(crate) places: u64,
}

impl Row<'_> {
    /// Shows each state.
    #[inline]
    pub(crate) fn visit(self, visit: &mut impl FnMut(&[u32]) -> ControlFlow<()>) -> ControlFlow<()> {
        let Row { state, last, base, mut places } = self;
        // Run by run: most rows have few, and a run is a plain loop.
        while places != 0 {
            let first = places.trailing_zeros();
            let length = (places >> first).trailing_ones();
            for place in base + first..base + first + length {
                state[last] = place;
                visit(state)?;
            }
            places &= u64::MAX.checked_shl(first + length).unwrap_or(0);
        }
        ControlFlow::Continue(())
    }
}

/// Walks stretches of the lexical order of the states of some threads, the others staying at their start.
pub(crate) struct Walker<'a> {
    pub(crate) frames: Frames<'a>,
    rows: Rows<'a>,
    judge: Judge<'a>,
    /// Only where states are judged.
    known: Option<ReachableWindow>,
    /// Only where none is, and the last two threads can be taken together.
    pairs: Option<Pairs>,
    /// From this level on states are all combinations, and none is judged.
    combined_from: usize,
    state: Vec<u32>,
    looked: u64,
    allowed: u64,
}

impl<'a> Walker<'a> {
    /// There is at least one thread.
    pub(crate) fn new(rule: Rule<'a>, judge: Judge<'a>, threads: &[usize]) -> Self {
        let frames = Frames::new(rule, threads);
        let rows = Rows::new(rule, threads[threads.len() - 1]);
        let known = (!judge.is_done()).then(|| ReachableWindow::new(&frames, rows.words()));
        let combined_from = if known.is_some() { frames.levels() } else { frames.independent_from() };
        let pairs = if known.is_none() { Pairs::new(&frames, &rows) } else { None };
        let state = vec![0; rule.loset.threads()];
        Walker { frames, rows, judge, known, pairs, combined_from, state, looked: 0, allowed: u64::MAX }
    }

    /// Lets it look at this number of states that fit the rule, from now on.
    pub(crate) fn allow(&mut self, states: u64) {
        (self.looked, self.allowed) = (0, states);
    }

    /// How many states were looked at since.
    pub(crate) fn looked(&self) -> u64 {
        self.looked
    }

    /// Walks the states above the given places of the first levels, which fit each other.
    pub(crate) fn stretch(
        &mut self,
        given: &[u32],
        emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Halt> {
        for (level, &place) in given.iter().enumerate() {
            let fits = self.frames.choose(level, place);
            debug_assert!(fits, "a stretch starts with places that fit");
            self.state[self.frames.threads[level]] = place;
        }
        if let Some(known) = &mut self.known {
            known.start(given.len());
        }
        self.level(given.len(), emit)
    }

    fn level(&mut self, level: usize, emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>) -> Result<(), Halt> {
        if level >= self.combined_from && self.frames.most_states(level) <= self.allowed - self.looked {
            return self.combinations(level, emit);
        }
        if level + 1 == self.frames.levels() {
            return self.row(emit);
        }
        if level + 2 == self.frames.levels() && self.pairs.is_some() {
            return self.pair(emit);
        }
        let renews = self.known.as_ref().is_some_and(|known| known.renewed_after() == Some(level));
        if let Some(known) = self.known.as_mut().filter(|_| renews) {
            known.forget();
        }
        for place in self.frames.range(level) {
            self.judge.check()?;
            if !self.frames.choose(level, place) {
                continue;
            }
            self.state[self.frames.threads[level]] = place;
            if let Some(known) = self.known.as_mut().filter(|_| renews) {
                known.renew(place);
            }
            self.level(level + 1, emit)?;
        }
        Ok(())
    }

    /// All combinations of the ranges of the levels from this one on, which are allowed.
    fn combinations(
        &mut self,
        first: usize,
        emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Halt> {
        self.looked += self.frames.most_states(first);
        let last = self.frames.levels() - 1;
        // The choices before the first level hold for all of them.
        let range = |level| self.frames.range_after(first, level);
        let row = range(last);
        let ends: Vec<(usize, u32, u32)> = (first..last)
            .rev()
            .map(|level| (self.frames.threads[level], *range(level).start(), *range(level).end()))
            .collect();
        ends.iter().for_each(|&(thread, least, _)| self.state[thread] = least);
        let thread = self.frames.threads[last];
        loop {
            self.judge.check()?;
            for word in words(&row) {
                let places = within(&row, word);
                let row = Row { state: &mut self.state, last: thread, base: word as u32 * 64, places };
                if emit(row).is_break() {
                    return Err(Halt::Broken);
                }
            }
            let mut turns = ends.iter();
            loop {
                let Some(&(thread, least, most)) = turns.next() else { return Ok(()) };
                if self.state[thread] < most {
                    self.state[thread] += 1;
                    break;
                }
                self.state[thread] = least;
            }
        }
    }

    fn row(&mut self, emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>) -> Result<(), Halt> {
        let range = self.frames.range(self.frames.levels() - 1);
        let mut carried = false;
        for word in words(&range) {
            let places = self.rows.fitting(&self.frames, &range, word);
            self.word(places, word, &mut carried, emit)?;
        }
        Ok(())
    }

    /// All states above the choices before the last two levels.
    fn pair(&mut self, emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>) -> Result<(), Halt> {
        let level = self.frames.levels() - 2;
        let Some(pairs) = &mut self.pairs else { return Ok(()) };
        pairs.look(&mut self.frames, &self.rows);
        let (thread, range) = (self.frames.threads[level], self.frames.range(level));
        let words = words(&self.frames.range_after(level, level + 1));
        for place in range {
            self.state[thread] = place;
            for word in words.clone() {
                let places = self.pairs.as_ref().map_or(0, |pairs| pairs.fitting(place, word));
                self.word(places, word, &mut false, emit)?;
            }
        }
        Ok(())
    }

    /// Hands on those of the fitting places of a word that are in the class, as far as is allowed.
    #[inline]
    fn word(
        &mut self,
        mut places: u64,
        word: usize,
        carried: &mut bool,
        emit: &mut impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Halt> {
        self.judge.check()?;
        let fitting = u64::from(places.count_ones());
        let left = self.allowed - self.looked;
        if fitting > left {
            places = bits(places).take(left as usize).fold(0, |first, place| first | 1 << place);
        }
        self.looked += fitting.min(left);
        if self.known.is_some() && places != 0 {
            places = self.judged(places, word, carried)?;
        }
        if places != 0 {
            let last = self.frames.threads[self.frames.levels() - 1];
            let row = Row { state: &mut self.state, last, base: word as u32 * 64, places };
            if emit(row).is_break() {
                return Err(Halt::Broken);
            }
        }
        if fitting > left { Err(Halt::Exhausted(Exhausted::States(self.allowed))) } else { Ok(()) }
    }

    /// Which of the places of a word are in the class. `carried`: the last place of the word before is reachable.
    fn judged(&mut self, mut places: u64, word: usize, carried: &mut bool) -> Result<u64, Exhausted> {
        let Walker { frames, rows, judge, known: Some(known), state, .. } = self else { return Ok(places) };
        let (level, base) = (frames.levels() - 1, word as u32 * 64);
        let last = frames.threads[level];
        let mut seeds = u64::from(*carried);
        if judge.has_semaphores() {
            places = bits(places)
                .filter(|&place| {
                    state[last] = base + place;
                    judge.has_permits(state)
                })
                .fold(0, |having, place| having | 1 << place);
        } else if !frames.is_locked(level) {
            seeds |= rows.free(word);
        }
        let row = known.row(|level| state[frames.threads[level]]);
        seeds |= known.led_to_by_others(|level| state[frames.threads[level]], row + word);
        let mut reachable = flooded(places, seeds & places);
        let mut accepted = 0;
        let mut open = places & !reachable;
        while open != 0 {
            let lowest = open.trailing_zeros();
            state[last] = base + lowest;
            match judge.judge(state)? {
                Judgement::Reachable => reachable = flooded(places, reachable | 1 << lowest),
                Judgement::Accepted => accepted |= 1 << lowest,
                Judgement::Refused => {}
            }
            open &= !reachable & !(1 << lowest);
        }
        known.set(row + word, reachable);
        *carried = reachable >> 63 == 1;
        Ok(reachable | accepted)
    }
}

/// The places that can be gone to, one at a time, from these through others that are set.
#[inline]
fn flooded(places: u64, from: u64) -> u64 {
    // Adding carries through each run of ones from where it starts in it.
    places & !places.wrapping_add(from) | from
}

#[cfg(test)]
mod tests {
    use super::flooded;

    #[test]
    fn floods_as_one_by_one() {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for _ in 0..10_000 {
            let places = next() | next();
            let from = next() & next() & next() & places;
            let mut naive = from;
            for place in 1..64 {
                naive |= naive << 1 & 1 << place & places;
            }
            assert_eq!(flooded(places, from), naive, "{places:b} {from:b}");
        }
    }
}
