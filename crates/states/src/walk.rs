//! All states of a class, each exactly once, in lexical order (paper 2, section 6), storing nothing of what was
//! visited: memory O(k²), whatever the number of states.
//!
//! Consistency and compatibility are kept thread by thread ([`crate::frames`]); strong feasibility and reachability
//! are asked of a whole state, and only where it holds a lock that another thread wants.

use std::ops::ControlFlow;

use trace::Trace;

use crate::budget::{Exhausted, Limits};
use crate::class::Class;
use crate::frames::Frames;
use crate::loset::Loset;
use crate::reach::Reach;
use crate::rule::Rule;

/// Shows every state of a class to `visit` until it breaks off. `loset` is that of the trace.
pub fn walk(
    trace: &Trace,
    loset: &Loset,
    class: Class,
    limits: Limits,
    visit: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    walk_rule(Rule::of(loset, class), Judge::new(trace, loset, class, limits), visit)
}

/// Shows every feasible state with these places only, by thread and place.
pub(crate) fn walk_within(
    trace: &Trace,
    loset: &Loset,
    places: &[Vec<bool>],
    limits: Limits,
    visit: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    walk_rule(Rule::within(loset, places), Judge::new(trace, loset, Class::Feasible, limits), visit)
}

fn walk_rule(
    rule: Rule<'_>,
    mut judge: Judge<'_>,
    mut visit: impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    let threads: Vec<usize> = (0..rule.loset.threads()).collect();
    let mut walk = Walk {
        frames: Frames::new(rule, &threads),
        state: vec![0; threads.len()],
        leaf: |state: &[u32], locked: Locked| {
            if judge.accepts(state, locked)? && visit(state).is_break() {
                return Err(Halt::Broken);
            }
            Ok(())
        },
    };
    match walk.level(0) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(Halt::Broken) => Ok(ControlFlow::Break(())),
        Err(Halt::Exhausted(exhausted)) => Err(exhausted),
    }
}

/// Whether a state holds locks that other threads want.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    Yes,
    No,
}

/// Why a walk ended early.
pub(crate) enum Halt {
    Broken,
    Exhausted(Exhausted),
}

impl From<Exhausted> for Halt {
    fn from(exhausted: Exhausted) -> Halt {
        Halt::Exhausted(exhausted)
    }
}

/// Decides what thread by thread cannot be decided.
pub(crate) struct Judge<'a> {
    trace: &'a Trace,
    loset: &'a Loset,
    class: Class,
    limits: Limits,
    looked: u64,
    /// Made when first needed.
    reach: Option<Reach<'a>>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(trace: &'a Trace, loset: &'a Loset, class: Class, limits: Limits) -> Self {
        Judge { trace, loset, class, limits, looked: 0, reach: None }
    }

    /// Whether a state that fits the rule of the class is in the class.
    #[inline]
    pub(crate) fn accepts(&mut self, state: &[u32], locked: Locked) -> Result<bool, Exhausted> {
        self.looked += 1;
        if self.looked > self.limits.states {
            return Err(Exhausted::States(self.limits.states));
        }
        match self.class {
            Class::Consistent | Class::LockFree => Ok(true),
            Class::Feasible | Class::Strong | Class::Reachable
                if locked == Locked::No && self.loset.permits.is_empty() =>
            {
                Ok(true)
            }
            Class::Feasible => Ok(self.loset.has_permits(state)),
            Class::Strong => Ok(self.loset.has_permits(state) && self.loset.is_strong_if_feasible(state)),
            Class::Reachable if !self.loset.has_permits(state) => Ok(false),
            Class::Reachable => {
                let reach = || Reach::new(self.trace, self.loset, self.limits.steps);
                self.reach.get_or_insert_with(reach).is_reachable_if_feasible(state)
            }
        }
    }
}

struct Walk<'a, F> {
    frames: Frames<'a>,
    state: Vec<u32>,
    leaf: F,
}

impl<F: FnMut(&[u32], Locked) -> Result<(), Halt>> Walk<'_, F> {
    fn level(&mut self, level: usize) -> Result<(), Halt> {
        if level == self.frames.levels() {
            let locked = if self.frames.is_locked(level) { Locked::Yes } else { Locked::No };
            return (self.leaf)(&self.state, locked);
        }
        let last = level + 1 == self.frames.levels();
        if last && self.frames.is_free(level) {
            let locked = if self.frames.is_locked(level) { Locked::Yes } else { Locked::No };
            for place in self.frames.range(level) {
                self.state[level] = place;
                (self.leaf)(&self.state, locked)?;
            }
            return Ok(());
        }
        for place in self.frames.range(level) {
            if !self.frames.choose(level, place) {
                continue;
            }
            self.state[level] = place;
            self.level(level + 1)?;
        }
        Ok(())
    }
}
