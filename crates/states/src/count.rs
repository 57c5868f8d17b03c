//! How many states a class has, without visiting each where their structure allows it.
//!
//! Independent parts multiply. Within a part, how many states there are above the choices for the first threads
//! depends only on the bounds and locks these leave to the others, so equal ones are counted once. Where a
//! program forks and joins, or passes through states in which nothing is held, few are different.
//! Where too many are, and for strongly feasible and reachable states, [`crate::count_walked`] counts.

use rustc_hash::FxHashMap;
use trace::Trace;

use crate::budget::{Exhausted, StateLimits, WalkProgress};
use crate::class::Class;
use crate::count_walked::CountWalked;
use crate::frames::Frames;
use crate::locks;
use crate::loset::Loset;
use crate::natural::Natural;
use crate::parts::parts;
use crate::rule::Rule;

/// How many states of a class there are. `loset` is that of the trace; `progress` is called now and then with how far it is with
/// states that are looked at one by one.
pub fn count(
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: StateLimits,
    mut progress: impl FnMut(WalkProgress),
) -> Result<Natural, Exhausted> {
    let mut product = Natural::from(1u64);
    let mut walked = CountWalked::new(trace, loset, class, limits, &mut progress);
    for part in parts(loset) {
        limits.check()?;
        let by_structure = match class {
            Class::Consistent | Class::LockFree => Counter::new(Rule::of(loset, class), &part).all(),
            Class::Feasible if loset.permits.is_empty() => Counter::new(Rule::of(loset, class), &part).all(),
            Class::Feasible | Class::Strong | Class::Reachable => Err(Unstructured),
        };
        loset.check()?;
        let count = by_structure.or_else(|Unstructured| walked.count(&part))?;
        product = &product * &count;
    }
    Ok(product)
}

/// A key costs about as much as walking this number of states.
const STATES_A_KEY: u64 = 1 << 8;
/// As many different keys are worth while in any part, and kept in none.
const FEWEST_KEYS: u64 = 1 << 12;
const MOST_KEYS: u64 = 1 << 21;

/// Too little of a part is alike, or there is no time to find out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unstructured;

/// Counts the states of a part under a rule.
pub(crate) struct Counter<'a> {
    pub(crate) frames: Frames<'a>,
    /// By level: what is known, by key.
    known: Vec<FxHashMap<Box<[u32]>, Natural>>,
    /// How many more keys may be kept; a part that has more is not counted by its structure.
    keys: u64,
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
        let frames = Frames::new(rule, part);
        let keys = (frames.most_states(0) / STATES_A_KEY).clamp(FEWEST_KEYS, MOST_KEYS);
        Counter { frames, known, keys, wanted }
    }

    pub(crate) fn all(&mut self) -> Result<Natural, Unstructured> {
        self.above(0)
    }

    /// How many states there are above the choices made before a level.
    pub(crate) fn above(&mut self, level: usize) -> Result<Natural, Unstructured> {
        if level == self.frames.levels() {
            return Ok(Natural::from(1u64));
        }
        let key = self.frames.key(level, &self.wanted[level]);
        if let Some(count) = self.known[level].get(&key) {
            return Ok(count.clone());
        }
        let mut count = Natural::ZERO;
        for place in self.frames.range(level) {
            if self.frames.rule.loset.is_out_of_time() {
                return Err(Unstructured);
            }
            if self.frames.choose(level, place) {
                count += &self.above(level + 1)?;
            }
        }
        self.keys = self.keys.checked_sub(1).ok_or(Unstructured)?;
        self.known[level].insert(key, count.clone());
        Ok(count)
    }
}
