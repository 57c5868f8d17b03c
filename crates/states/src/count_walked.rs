//! Counting what structure alone does not tell: states that are strongly feasible or reachable, or take permits. Those that
//! are easy are counted as [`crate::count()`] does; only stretches with others are walked, on all cores.
//!
//! Above some choices for the first threads, if there are as many easy states as feasible ones, all are easy, and
//! none needs to be looked at. Easy states are reachable, hence strongly feasible; all others are feasible.

use std::ops::ControlFlow;

use trace::Trace;

use crate::budget::{Exhausted, StateLimits, WalkProgress};
use crate::class::Class;
use crate::count::{Counter, Unstructured};
use crate::frames::Frames;
use crate::judge::Judge;
use crate::loset::Loset;
use crate::natural::Natural;
use crate::rule::Rule;
use crate::walk::{Halt, Row};
use crate::walker_pool::{Batch, Cutter, Shortcut, WalkerPool};

/// Stretches of no more states are walked without asking whether all are easy: that would cost as much.
const STRETCH: u64 = 1 << 18;

/// Counts part by part, with one budget for all.
pub(crate) struct CountWalked<'a> {
    trace: &'a Trace,
    loset: &'a Loset,
    class: Class,
    limits: StateLimits,
    looked: u64,
    progress: &'a mut dyn FnMut(WalkProgress),
}

impl<'a> CountWalked<'a> {
    pub(crate) fn new(
        trace: &'a Trace,
        loset: &'a Loset,
        class: Class,
        limits: StateLimits,
        progress: &'a mut dyn FnMut(WalkProgress),
    ) -> Self {
        CountWalked { trace, loset, class, limits, looked: 0, progress }
    }

    /// How many states of a part there are.
    pub(crate) fn count(&mut self, part: &[usize]) -> Result<Natural, Exhausted> {
        let rule = Rule::of(self.loset, self.class);
        let make_judge = || Judge::new(self.trace, self.loset, self.class, self.limits);
        let walkers = WalkerPool::new(rule, part, self.limits, make_judge);
        let (mut walked, mut batch) = (0u64, Batch::default());
        let row = |count: &mut u64, row: Row<'_>| {
            *count += u64::from(row.places.count_ones());
            ControlFlow::Continue(())
        };
        let (looked, progress) = (&mut self.looked, &mut self.progress);
        let mut walk = |batch: &mut Batch| {
            walkers.walk(batch, looked, &row, &mut |count: u64, at| {
                walked += count;
                progress(at);
                ControlFlow::Continue(())
            })
        };
        let mut cutter = Cutter {
            frames: Frames::new(rule, part),
            shortcut: EasyCounted { easy: Easy::new(self.loset, self.class, part), counted: Natural::ZERO },
            stretch: STRETCH,
            given: Vec::new(),
        };
        let cut = cutter.cut(&mut |stretch| {
            batch.push(stretch);
            if batch.is_full() { walk(&mut batch) } else { Ok(()) }
        });
        match cut.and_then(|()| walk(&mut batch)) {
            Ok(()) => {
                let mut counted = cutter.shortcut.counted;
                counted += &Natural::from(walked);
                Ok(counted)
            }
            Err(Halt::Exhausted(exhausted)) => Err(exhausted),
            Err(Halt::Broken) => unreachable!("nobody breaks off a count"),
        }
    }
}

/// Counts what is all easy, and leaves the rest to be walked.
struct EasyCounted<'a> {
    /// `None`: nothing is to be had from structure.
    easy: Option<Easy<'a>>,
    counted: Natural,
}

impl Shortcut for EasyCounted<'_> {
    fn settles(&mut self, level: usize) -> bool {
        match self.easy.as_mut().map(|easy| easy.all_above(level)) {
            Some(Ok(Some(count))) => {
                self.counted += &count;
                true
            }
            Some(Err(Unstructured)) => {
                self.easy = None;
                false
            }
            Some(Ok(None)) | None => false,
        }
    }

    fn choose(&mut self, level: usize, place: u32) {
        if let Some(easy) = &mut self.easy {
            easy.choose(level, place);
        }
    }
}

/// How many feasible and how many easy states there are, kept at the same choices.
struct Easy<'a> {
    feasible: Counter<'a>,
    easy: Counter<'a>,
    /// The first level whose choice no easy state has; above all levels if there is none.
    until: usize,
}

impl<'a> Easy<'a> {
    fn new(loset: &'a Loset, class: Class, part: &[usize]) -> Option<Self> {
        let all_are_in = match class {
            Class::Strong | Class::Reachable => loset.permits.is_empty(),
            Class::Consistent | Class::Feasible | Class::LockFree => false,
        };
        all_are_in.then(|| Easy {
            feasible: Counter::new(Rule::of(loset, Class::Feasible), part),
            easy: Counter::new(Rule::easy(loset), part),
            until: usize::MAX,
        })
    }

    /// How many states there are above the choices before a level, if all of them are easy.
    fn all_above(&mut self, level: usize) -> Result<Option<Natural>, Unstructured> {
        if self.until < level {
            return Ok(None);
        }
        let feasible = self.feasible.above(level)?;
        Ok((self.easy.above(level)? == feasible).then_some(feasible))
    }

    /// Follows a choice of a feasible state.
    fn choose(&mut self, level: usize, place: u32) {
        let fits = self.feasible.frames.choose(level, place);
        debug_assert!(fits, "it fits the same rule");
        if self.until >= level {
            self.until = if self.easy.frames.choose(level, place) { usize::MAX } else { level };
        }
    }
}
