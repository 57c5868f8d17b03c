//! What thread by thread cannot be decided about a state that fits the rule of its class.

use trace::Trace;

use crate::budget::{Exhausted, StateLimits};
use crate::class::Class;
use crate::loset::Loset;
use crate::reach::Reach;

/// What is known of a feasible state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It can be reached, so it is in every class that asks for no more.
    Reachable,
    /// It is in the class; whether it can be reached was not asked.
    Accepted,
    /// It is not in the class.
    Refused,
}

/// Judges states of a trace.
pub(crate) struct Judge<'a> {
    trace: &'a Trace,
    loset: &'a Loset,
    class: Class,
    limits: StateLimits,
    /// Made when first needed.
    reach: Option<Reach<'a>>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(trace: &'a Trace, loset: &'a Loset, class: Class, limits: StateLimits) -> Self {
        Judge { trace, loset, class, limits, reach: None }
    }

    /// Whether the work may go on.
    pub(crate) fn check(&self) -> Result<(), Exhausted> {
        self.limits.check()
    }

    /// Whether what fits the rule of the class is in it.
    pub(crate) fn is_done(&self) -> bool {
        match self.class {
            Class::Consistent | Class::LockFree => true,
            Class::Feasible => self.loset.permits.is_empty(),
            Class::Strong | Class::Reachable => self.loset.is_all_easy(),
        }
    }

    /// Whether there are semaphores, so that a state without locks need not be reachable.
    pub(crate) fn has_semaphores(&self) -> bool {
        !self.loset.permits.is_empty()
    }

    /// Whether no more permits have been taken than there are.
    pub(crate) fn has_permits(&self, state: &[u32]) -> bool {
        self.loset.has_permits(state)
    }

    /// Judges a feasible state.
    pub(crate) fn judge(&mut self, state: &[u32]) -> Result<Judgement, Exhausted> {
        match self.class {
            Class::Consistent | Class::LockFree | Class::Feasible => Ok(Judgement::Accepted),
            Class::Strong => {
                let judgement = self.loset.judge_strength(state);
                self.loset.check()?;
                Ok(judgement)
            }
            Class::Reachable => {
                let reach = || Reach::new(self.trace, self.loset, self.limits);
                let reachable = self.reach.get_or_insert_with(reach).is_reachable_if_feasible(state)?;
                Ok(if reachable { Judgement::Reachable } else { Judgement::Refused })
            }
        }
    }
}
