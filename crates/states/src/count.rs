//! How many states a class has, without visiting each where their structure allows it.
//!
//! Independent parts multiply. Within a part, how many states there are above the choices for the first threads
//! depends only on the bounds and locks these leave to the others, so equal ones are counted once. Where a
//! program forks and joins, or passes through states in which nothing is held, few are different.
//! Strongly feasible and reachable states are counted in [`crate::count_reachable`].

use rustc_hash::FxHashMap;
use trace::Trace;

use crate::budget::{Exhausted, Limits};
use crate::class::Class;
use crate::count_reachable::Hard;
use crate::frames::Frames;
use crate::locks;
use crate::loset::Loset;
use crate::parts::parts;
use crate::rule::Rule;

/// Why there is no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// A budget ran out.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// There are 2^128 or more.
    #[error("there are 2^128 states or more")]
    TooMany,
}

/// How many states of a class there are. `loset` is that of the trace; `progress` is told now and then how many states
/// were looked at one by one.
pub fn count(
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: Limits,
    mut progress: impl FnMut(u64),
) -> Result<u128, CountError> {
    let mut product = 1u128;
    let mut hard = Hard::new(trace, loset, class, limits, &mut progress);
    for part in parts(loset) {
        let count = match class {
            Class::Consistent | Class::LockFree => Counter::new(Rule::of(loset, class), &part).all()?,
            Class::Feasible if loset.permits.is_empty() => {
                Counter::new(Rule::of(loset, class), &part).all()?
            }
            Class::Feasible | Class::Strong | Class::Reachable => hard.count(&part)?,
        };
        product = product.checked_mul(count).ok_or(CountError::TooMany)?;
    }
    Ok(product)
}

/// As many different keys are kept; beyond that, equal ones are counted again.
const MOST_KEPT: usize = 1 << 21;

/// Counts the states of a part under a rule.
pub(crate) struct Counter<'a> {
    pub(crate) frames: Frames<'a>,
    /// By level: what is known, by key.
    known: Vec<FxHashMap<Box<[u32]>, u128>>,
    kept: usize,
    /// By level: the locks that matter from there on.
    wanted: Vec<Vec<u64>>,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(rule: Rule<'a>, part: &[usize]) -> Self {
        let mut wanted = vec![vec![0; rule.width()]];
        for &thread in part.iter().rev() {
            let mut from_here = wanted[wanted.len() - 1].clone();
            if let Some(sets) = rule.sets {
                for place in 0..=rule.loset.lengths[thread] {
                    locks::unite(&mut from_here, sets.at(thread, place));
                }
            }
            wanted.push(from_here);
        }
        wanted.reverse();
        // A lock wanted in one form can be excluded by the other.
        for set in &mut wanted {
            let words = set.len() / 2;
            (0..words).for_each(|word| set[words + word] = set[word]);
        }
        let known = vec![FxHashMap::default(); part.len() + 1];
        Counter { frames: Frames::new(rule, part), known, kept: 0, wanted }
    }

    pub(crate) fn all(&mut self) -> Result<u128, CountError> {
        self.above(0)
    }

    /// How many states there are above the choices made before a level.
    pub(crate) fn above(&mut self, level: usize) -> Result<u128, CountError> {
        if level == self.frames.levels() {
            return Ok(1);
        }
        let key = self.frames.key(level, &self.wanted[level]);
        if let Some(&count) = self.known[level].get(&key) {
            return Ok(count);
        }
        let mut count = 0u128;
        for place in self.frames.range(level) {
            if self.frames.choose(level, place) {
                count = count.checked_add(self.above(level + 1)?).ok_or(CountError::TooMany)?;
            }
        }
        if self.kept < MOST_KEPT {
            self.kept += 1;
            self.known[level].insert(key, count);
        }
        Ok(count)
    }
}
