//! Accesses: their variables and places in the made-up source.

use trace::{Kind, LocationId, Op, ThreadId, VariableId};

use crate::generator::Generator;
use crate::settings::{Choice, TraceSettings};
use crate::world::{Form, Hold};

const ACCESSES: [Choice; 5] =
    [Choice::Read, Choice::Write, Choice::AtomicRead, Choice::AtomicWrite, Choice::AtomicUpdate];

impl Generator {
    /// An access of any kind; a fence if there can be none.
    pub(crate) fn access(&mut self, thread: ThreadId) -> Op {
        match &self.accesses {
            Some(accesses) => {
                let choice = ACCESSES[accesses.draw(&mut self.rng)];
                self.access_as(thread, choice)
            }
            None => Op::Fence,
        }
    }

    #[inline]
    pub(crate) fn access_as(&mut self, thread: ThreadId, choice: Choice) -> Op {
        if self.settings.variables == 0 {
            return Op::Fence;
        }
        match choice {
            Choice::Write => Op::Write(self.variable(thread, Form::Exclusive)),
            Choice::AtomicRead => Op::AtomicRead(self.variable(thread, Form::Shared)),
            Choice::AtomicWrite => Op::AtomicWrite(self.variable(thread, Form::Exclusive)),
            Choice::AtomicUpdate => Op::AtomicUpdate(self.variable(thread, Form::Exclusive)),
            _ => Op::Read(self.variable(thread, Form::Shared)),
        }
    }

    /// A variable for an access that needs its lock in this form. The first half belongs to the
    /// locks, the second to the threads.
    #[inline]
    fn variable(&mut self, thread: ThreadId, needs: Form) -> VariableId {
        let TraceSettings { variables, locks, threads, .. } = self.settings;
        if self.rng.chance(self.chances.disciplined) {
            let half = variables / 2;
            let protects = |hold: &&Hold| hold.form == Form::Exclusive || needs == Form::Shared;
            let hold = self.world.threads[thread.index()].holds.last().filter(protects);
            if let Some(&hold) = hold
                && half >= locks
            {
                return VariableId(hold.lock.0 + locks * self.skewed(half / locks));
            }
            let own = (variables - half) / threads;
            if own > 0 {
                return VariableId(half + thread.0 * own + self.skewed(own));
            }
        }
        VariableId(self.skewed(variables))
    }

    /// A number below `count`, low ones more often.
    #[inline]
    pub(crate) fn skewed(&mut self, mut count: u32) -> u32 {
        while count > 1 && self.rng.chance(self.chances.skew) {
            count = count.div_ceil(8);
        }
        self.rng.below(count)
    }

    /// An object is touched in one of two places by each kind of operation.
    #[inline]
    pub(crate) fn location(&mut self, op: Op) -> LocationId {
        let target = if op.kind() == Kind::Branch { 0 } else { op.target() };
        let place = u64::from(op.kind() as u8) << 33 | u64::from(target) << 1 | self.rng.next() >> 63;
        let hash = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        LocationId(((hash * u64::from(self.settings.locations)) >> 32) as u32)
    }
}
