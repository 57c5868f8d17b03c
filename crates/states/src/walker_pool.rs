//! Walking on all cores. The lexical order is cut by the places of the first threads into stretches of bounded size;
//! batches of them are walked side by side and handed on in their order, so what comes out is what one walker
//! would have shown, budgets included. Memory is that of a batch, whatever the number of states.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use trace::Trace;

use crate::budget::{Exhausted, StateLimits, WalkProgress};
use crate::class::Class;
use crate::frames::Frames;
use crate::judge::Judge;
use crate::loset::Loset;
use crate::rule::Rule;
use crate::walk::{Halt, Row, Walker, halted};

/// States of a stretch, at most: a start knows no neighbours, so short ones search again for what the one before knew. Bounds
/// are far above what fits where there are locks.
const STRETCH: u64 = 1 << 22;
/// The number of states or stretches at which a batch is full: enough to keep all busy, and few enough to report progress often.
const BATCH_STATES: u64 = 1 << 25;
const BATCH_STRETCHES: usize = 1 << 10;

/// Shows every state of a class in lexical order, on all cores. Each stretch of it is shown to a value of its own, made by `T::default`,
/// and `collect` is given these values in order; either can break off. `loset` is that of the trace.
pub fn walk_on_all_cores<T: Default + Send>(
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: StateLimits,
    visit: impl Fn(&mut T, &[u32]) -> ControlFlow<()> + Sync,
    collect: impl FnMut(T, WalkProgress) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    walk_rule(Rule::of(loset, class), trace, loset, class, limits, visit, collect)
}

/// The same for all that fits a rule and is in a class.
pub(crate) fn walk_rule<T: Default + Send>(
    rule: Rule<'_>,
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: StateLimits,
    visit: impl Fn(&mut T, &[u32]) -> ControlFlow<()> + Sync,
    mut collect: impl FnMut(T, WalkProgress) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    let threads: Vec<usize> = (0..loset.threads()).collect();
    if threads.is_empty() {
        let mut made = T::default();
        let _seen = visit(&mut made, &[]);
        return Ok(collect(made, WalkProgress { looked: 1, share: 1.0 }));
    }
    let walkers = WalkerPool::new(rule, &threads, limits, || Judge::new(trace, loset, class, limits));
    let row = |made: &mut T, row: Row<'_>| row.visit(&mut |state: &[u32]| visit(made, state));
    let mut batch = Batch::default();
    let mut looked = 0;
    let mut cutter = Cutter {
        frames: Frames::new(rule, &threads),
        shortcut: NoShortcut,
        stretch: STRETCH,
        given: Vec::new(),
    };
    let mut walk = |batch: &mut Batch| {
        walkers.walk(batch, &mut looked, &row, &mut |made, progress| collect(made, progress))
    };
    let cut = cutter.cut(&mut |stretch| {
        batch.push(stretch);
        if batch.is_full() { walk(&mut batch) } else { Ok(()) }
    });
    halted(cut.and_then(|()| walk(&mut batch)))
}

/// A part of the lexical order: all states above some places of the first levels.
pub(crate) struct Stretch {
    pub(crate) given: Vec<u32>,
    /// No more states than this.
    pub(crate) most: u64,
    /// The share of the whole, by places, up to its end.
    pub(crate) until: f64,
}

/// Stretches waiting to be walked, in order.
#[derive(Default)]
pub(crate) struct Batch {
    stretches: Vec<Stretch>,
    states: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, stretch: Stretch) {
        self.states = self.states.saturating_add(stretch.most);
        self.stretches.push(stretch);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.states >= BATCH_STATES || self.stretches.len() >= BATCH_STRETCHES
    }
}

/// What need not be walked.
pub(crate) trait Shortcut {
    /// Whether all states above the choices before a level are settled without walking.
    fn settles(&mut self, level: usize) -> bool;

    /// Follows a choice.
    fn choose(&mut self, level: usize, place: u32);
}

/// Everything is walked.
struct NoShortcut;

impl Shortcut for NoShortcut {
    fn settles(&mut self, _: usize) -> bool {
        false
    }

    fn choose(&mut self, _: usize, _: u32) {}
}

/// Cuts the states of a rule into stretches.
pub(crate) struct Cutter<'a, S> {
    pub(crate) frames: Frames<'a>,
    pub(crate) shortcut: S,
    /// The most states of a stretch, unless it cannot be cut.
    pub(crate) stretch: u64,
    pub(crate) given: Vec<u32>,
}

impl<S: Shortcut> Cutter<'_, S> {
    /// Gives out all stretches in order.
    pub(crate) fn cut(&mut self, take: &mut impl FnMut(Stretch) -> Result<(), Halt>) -> Result<(), Halt> {
        self.cut_above(0, 0.0, 1.0, take)
    }

    /// Those above the choices before a level, which lie from a share of the whole on and are a share of it.
    fn cut_above(
        &mut self,
        level: usize,
        from: f64,
        share: f64,
        take: &mut impl FnMut(Stretch) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let most = self.frames.most_states(level);
        if most <= self.stretch || level + 1 == self.frames.levels() {
            return take(Stretch { given: self.given.clone(), most, until: from + share });
        }
        if self.shortcut.settles(level) {
            return Ok(());
        }
        let range = self.frames.range(level);
        let share = share / f64::from(range.end() - range.start() + 1);
        for (index, place) in range.enumerate() {
            self.frames.rule.loset.check()?;
            if self.frames.choose(level, place) {
                self.shortcut.choose(level, place);
                self.given.push(place);
                self.cut_above(level + 1, from + share * index as f64, share, take)?;
                self.given.pop();
            }
        }
        Ok(())
    }
}

/// Walkers that share the work.
pub(crate) struct WalkerPool<'a, M> {
    pool: Option<rayon::ThreadPool>,
    rule: Rule<'a>,
    threads: Vec<usize>,
    limits: StateLimits,
    make_judge: M,
    resting: Mutex<Vec<Walker<'a>>>,
}

/// The result of a stretch.
struct StretchOutcome<T> {
    made: T,
    looked: u64,
    result: Result<(), Halt>,
}

impl<'a, M: Fn() -> Judge<'a> + Sync> WalkerPool<'a, M> {
    pub(crate) fn new(rule: Rule<'a>, threads: &[usize], limits: StateLimits, make_judge: M) -> Self {
        // Without threads of its own it works on the one it is called on.
        let pool = rayon::ThreadPoolBuilder::new().build().ok();
        WalkerPool { pool, rule, threads: threads.to_vec(), limits, make_judge, resting: Mutex::default() }
    }

    /// Walks a batch and leaves it empty. `looked` is how many states were looked at, in all batches so far.
    pub(crate) fn walk<T: Default + Send>(
        &self,
        batch: &mut Batch,
        looked: &mut u64,
        row: &(impl Fn(&mut T, Row<'_>) -> ControlFlow<()> + Sync),
        collect: &mut impl FnMut(T, WalkProgress) -> ControlFlow<()>,
    ) -> Result<(), Halt> {
        let Batch { stretches, .. } = std::mem::take(batch);
        let left = self.limits.states - *looked;
        let walk_one = |stretch: &Stretch| self.one(stretch, left, row);
        let walked: Vec<StretchOutcome<T>> = match &self.pool {
            Some(pool) if stretches.len() > 1 => {
                pool.install(|| stretches.par_iter().with_max_len(1).map(walk_one).collect())
            }
            _ => stretches.iter().map(walk_one).collect(),
        };
        for (stretch, mut walked) in stretches.iter().zip(walked) {
            let left = self.limits.states - *looked;
            if walked.looked > left {
                // It could not know how much the stretches before would take.
                walked = self.one(stretch, left, row);
            }
            *looked += walked.looked;
            if collect(walked.made, WalkProgress { looked: *looked, share: stretch.until }).is_break() {
                return Err(Halt::Broken);
            }
            match walked.result {
                Err(Halt::Exhausted(Exhausted::States(_))) => {
                    return Err(Halt::Exhausted(Exhausted::States(self.limits.states)));
                }
                // Who visits has seen enough of this stretch; `collect` says whether of all.
                Ok(()) | Err(Halt::Broken) => {}
                Err(exhausted) => return Err(exhausted),
            }
        }
        Ok(())
    }

    fn one<T: Default>(
        &self,
        stretch: &Stretch,
        left: u64,
        row: &impl Fn(&mut T, Row<'_>) -> ControlFlow<()>,
    ) -> StretchOutcome<T> {
        let rested = self.resting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut walker = rested.unwrap_or_else(|| Walker::new(self.rule, (self.make_judge)(), &self.threads));
        walker.allow(left);
        let mut made = T::default();
        let result = walker.stretch(&stretch.given, &mut |states| row(&mut made, states));
        let looked = walker.looked();
        self.resting.lock().unwrap_or_else(PoisonError::into_inner).push(walker);
        StretchOutcome { made, looked, result }
    }
}
