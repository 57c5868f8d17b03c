//! Counting strongly feasible and reachable states: those of a part that are easy are counted as
//! [`crate::count`] does, and only the others are looked at one by one.
//!
//! Above some choices for the first threads, if there are as many easy states as feasible ones, all are easy, and
//! none needs to be looked at. Easy states are reachable, hence strongly feasible; all others are feasible.

use trace::Trace;

use crate::budget::Limits;
use crate::class::Class;
use crate::count::{CountError, Counter};
use crate::loset::Loset;
use crate::rule::Rule;
use crate::walk::{Judge, Locked};

/// How often progress is told: every so many states looked at.
const TOLD_EVERY: u64 = 1 << 12;

/// Counts part by part, with one budget for all.
pub(crate) struct Hard<'a> {
    loset: &'a Loset,
    judge: Judge<'a>,
    looked: u64,
    progress: &'a mut dyn FnMut(u64),
}

/// The counters of a part, kept at the same choices.
struct Both<'a> {
    feasible: Counter<'a>,
    easy: Counter<'a>,
    /// The first level whose choice no easy state has; above all levels if there is none.
    easy_until: usize,
    state: Vec<u32>,
}

impl<'a> Hard<'a> {
    pub(crate) fn new(
        trace: &'a Trace,
        loset: &'a Loset,
        class: Class,
        limits: Limits,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        Hard { loset, judge: Judge::new(trace, loset, class, limits), looked: 0, progress }
    }

    pub(crate) fn count(&mut self, part: &[usize]) -> Result<u128, CountError> {
        let mut both = Both {
            feasible: Counter::new(Rule::of(self.loset, Class::Feasible), part),
            easy: Counter::new(Rule::easy(self.loset), part),
            easy_until: usize::MAX,
            state: vec![0; self.loset.threads()],
        };
        self.above(&mut both, 0)
    }

    /// How many states of the class there are above the choices made before a level.
    fn above(&mut self, both: &mut Both<'a>, level: usize) -> Result<u128, CountError> {
        if both.easy_until >= level && self.loset.permits.is_empty() {
            let feasible = both.feasible.above(level)?;
            if both.easy.above(level)? == feasible {
                return Ok(feasible);
            }
        }
        if level == both.feasible.frames.levels() {
            return self.look(&both.state);
        }
        let mut count = 0u128;
        for place in both.feasible.frames.range(level) {
            if !both.feasible.frames.choose(level, place) {
                continue;
            }
            if both.easy_until >= level {
                let fits = both.easy.frames.choose(level, place);
                both.easy_until = if fits { usize::MAX } else { level };
            }
            both.state[both.feasible.frames.threads[level]] = place;
            count = count.checked_add(self.above(both, level + 1)?).ok_or(CountError::TooMany)?;
        }
        Ok(count)
    }

    fn look(&mut self, state: &[u32]) -> Result<u128, CountError> {
        self.looked += 1;
        if self.looked.is_multiple_of(TOLD_EVERY) {
            (self.progress)(self.looked);
        }
        Ok(u128::from(self.judge.accepts(state, Locked::Yes)?))
    }
}
