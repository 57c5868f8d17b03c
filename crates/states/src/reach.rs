//! Exact reachability (paper 2, definition 3): NP-complete (theorem 4), so a search, after everything cheap.
//!
//! What is easy or reached greedily is reachable, what is not strongly feasible is not, and with two threads nothing is left. The
//! rest is searched between the reset point and the state (theorem 8): state by state where few lie between,
//! otherwise by the engine.

use check::{Model, Question};
use decide::{Index, Options, Verdict};
use trace::Trace;

use crate::budget::{Exhausted, StateLimits};
use crate::class::Class;
use crate::loset::Loset;

/// Boxes of at most this many states are searched state by state.
const SMALL: u64 = 1 << 16;

/// Answers whether states of a trace are reachable, or in any other class.
pub struct Reach<'t> {
    loset: &'t Loset,
    index: Index<'t>,
    limits: StateLimits,
    /// Scratch: states seen between reset point and goal, by their number in the box.
    seen: Vec<u64>,
}

impl<'t> Reach<'t> {
    /// `loset` is that of the trace; the engine keeps to the limits for one state.
    pub fn new(trace: &'t Trace, loset: &'t Loset, limits: StateLimits) -> Self {
        Reach { loset, index: Index::within(trace, limits.bounds), limits, seen: Vec::new() }
    }

    /// Whether a state is in a class.
    pub fn is_in(&mut self, class: Class, state: &[u32]) -> Result<bool, Exhausted> {
        Ok(match class {
            Class::Consistent => self.loset.is_consistent(state),
            Class::Feasible => self.loset.is_feasible(state),
            Class::Strong => {
                let is_strong = self.loset.is_strong(state);
                self.loset.check()?;
                is_strong
            }
            Class::Reachable => return self.is_reachable(state),
            Class::LockFree => self.loset.is_lock_free(state),
        })
    }

    /// Whether a schedule leads to the state.
    pub fn is_reachable(&mut self, state: &[u32]) -> Result<bool, Exhausted> {
        if !self.loset.is_feasible(state) {
            return Ok(false);
        }
        self.is_reachable_if_feasible(state)
    }

    #[inline]
    pub(crate) fn is_reachable_if_feasible(&mut self, state: &[u32]) -> Result<bool, Exhausted> {
        if self.loset.is_easy(state) {
            return Ok(true);
        }
        let start = self.loset.reset_point(state);
        if self.loset.is_greedily_reached(&start, state) {
            return Ok(true);
        }
        if self.loset.normalise_between(&start, state).is_err() {
            return Ok(false);
        }
        self.loset.check()?;
        if self.loset.threads() <= 2 && self.loset.permits.is_empty() {
            return Ok(true);
        }
        let sides = start.iter().zip(state).map(|(start, end)| u64::from(end - start) + 1);
        match sides.clone().try_fold(1, |product: u64, side| product.checked_mul(side)) {
            Some(size) if size <= SMALL => Ok(self.search_box(&start, state, size)),
            _ => self.ask_engine(state),
        }
    }

    fn ask_engine(&self, state: &[u32]) -> Result<bool, Exhausted> {
        let options = Options { budget: self.limits.steps, ..Options::default() };
        let verdict = decide::decide(&self.index, &Question::Cut(state.to_vec()), Model::Sync, options);
        match verdict.expect("a state names as many threads and events as there are") {
            Verdict::Feasible(_) => Ok(true),
            Verdict::Infeasible(_) => Ok(false),
            Verdict::Unknown { budget } => self.limits.check().and(Err(Exhausted::Steps(budget))),
        }
    }

    /// Whether feasible states, each one event after the one before, lead from `start` to `goal`.
    fn search_box(&mut self, start: &[u32], goal: &[u32], size: u64) -> bool {
        self.seen.clear();
        self.seen.resize(size.div_ceil(64) as usize, 0);
        let mut waiting = vec![start.to_vec()];
        while let Some(state) = waiting.pop() {
            if state == goal {
                return true;
            }
            for thread in 0..state.len() {
                if state[thread] == goal[thread] {
                    continue;
                }
                let mut next = state.clone();
                next[thread] += 1;
                let number = number(start, goal, &next);
                let (word, bit) = (number as usize / 64, 1 << (number % 64));
                if self.seen[word] & bit == 0 && self.loset.is_feasible(&next) {
                    self.seen[word] |= bit;
                    waiting.push(next);
                }
            }
        }
        false
    }
}

/// The number of a state among all between two others.
fn number(start: &[u32], goal: &[u32], state: &[u32]) -> u64 {
    let sides = start.iter().zip(goal).map(|(start, end)| u64::from(end - start) + 1);
    let within = start.iter().zip(state).map(|(start, place)| u64::from(place - start));
    sides.zip(within).fold(0, |number, (side, place)| number * side + place)
}
