//! Accesses to memory: which variables of the trace they touch, and how.

use std::io;

use trace::{Kind, MemoryOrder, Op, VariableId};
use wire::{Event, Op as Raw, Plain, PlainAccess};

use super::Translator;
use crate::memory::FirstUse;
use crate::rust::Role;
use crate::sharing::Retention;
use crate::sink::Sink;
use crate::variables::{Slot, Touched};

/// How a raw access acts on each variable it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    ReadThenWrite,
    AtomicRead,
    AtomicWrite,
    AtomicUpdate,
}

impl Access {
    /// What it is in a trace.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Access::Read => &[Kind::Read],
            Access::Write => &[Kind::Write],
            Access::ReadThenWrite => &[Kind::Read, Kind::Write],
            Access::AtomicRead => &[Kind::AtomicRead],
            Access::AtomicWrite => &[Kind::AtomicWrite],
            Access::AtomicUpdate => &[Kind::AtomicUpdate],
        }
    }
}

impl<S: Sink> Translator<S> {
    /// An atomic access, with the memory order that was said just before.
    pub(super) fn atomic(
        &mut self,
        event: &Event<'_>,
        address: u64,
        size: u8,
        access: Access,
    ) -> io::Result<()> {
        if !self.directives.orders(event.thread) {
            self.order = MemoryOrder::Relaxed;
        }
        let result = self.access(event, address, size.into(), access);
        self.order = MemoryOrder::SeqCst;
        result
    }

    /// Who frees what references were counted to has given back the last, though std may have done that out of sight. It has the place
    /// of the free.
    pub(super) fn last_references(&mut self, event: &Event<'_>, address: u64) -> io::Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let Some(block) = self.objects.memory.variables.block_at(address) else { return Ok(()) };
        let counts: Vec<u64> = self.counts.range(block.start..block.start + block.length).copied().collect();
        for count in counts {
            self.counts.remove(&count);
            self.access(event, count, 8, Access::AtomicUpdate)?;
        }
        Ok(())
    }

    /// Translates plain accesses that follow each other: what [`Translator::event`] does with the event of each. Returns how many events of
    /// the log they were until the trace was full.
    ///
    /// Where each belongs is found first, for all of them: one look has nothing to do with the next, so the processor does not wait for
    /// memory at each.
    pub(crate) fn plain_accesses(&mut self, accesses: &[PlainAccess]) -> io::Result<u64> {
        let mut all = std::mem::take(&mut self.together);
        all.clear();
        let variables = &mut self.objects.memory.variables;
        all.extend(accesses.iter().map(|plain| variables.touched_by_few(plain.address, plain.size)));
        self.fetch(&all);
        let mut count = 0;
        let mut result = Ok(());
        for (plain, &touched) in accesses.iter().zip(&all) {
            count += 1 + u64::from(plain.is_after_branch);
            result = self.plain_access(plain, touched);
            if result.is_err() || self.is_full() {
                break;
            }
        }
        self.together = all;
        result.map(|()| count)
    }

    /// Brings what is known of some variables into the cache, by a look at all of them.
    fn fetch(&self, touched: &[Touched]) {
        let mut looks = 0;
        for touched in touched {
            if let Touched::One(slot) = *touched
                && let Some(variable) = self.objects.known_variable(slot)
            {
                looks ^= self.spinning.reader(variable);
            }
        }
        std::hint::black_box(looks);
    }

    /// Translates a plain access to these variables.
    #[inline]
    fn plain_access(&mut self, plain: &PlainAccess, touched: Touched) -> io::Result<()> {
        let state = &mut self.threads[plain.thread as usize];
        let is_over = state.over;
        state.branches += u64::from(plain.is_after_branch && !is_over);
        if S::WANTS_ALL_ACCESSES
            || is_over
            || !self.destroyed.is_empty()
            || self.rust.is_upgrading(plain.thread)
        {
            return self.event(&plain.event());
        }
        let slot = match touched {
            Touched::None => return Ok(()),
            Touched::Freed => return self.use_after_free(&plain.event(), plain.address),
            Touched::One(slot) => slot,
            Touched::Several => return self.event(&plain.event()),
        };
        if !self.chosen.keeps(slot) {
            return Ok(());
        }
        let access = match plain.plain {
            Plain::Read => Access::Read,
            Plain::Write => Access::Write,
            Plain::ReadWrite => Access::ReadThenWrite,
        };
        self.accesses(&plain.event(), &[slot], access)
    }

    #[inline]
    pub(super) fn access(
        &mut self,
        event: &Event<'_>,
        address: u64,
        length: u64,
        access: Access,
    ) -> io::Result<()> {
        if S::WANTS_ALL_ACCESSES {
            return self.any_access(event, address, length, access);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        let chosen = &self.chosen;
        self.objects.memory.variables.touched(address, length, |slot| {
            if chosen.keeps(slot) {
                touched.push(slot);
            }
        });
        let result = if touched.is_empty() { Ok(()) } else { self.accesses(event, &touched, access) };
        self.touched = touched;
        result
    }

    fn accesses(&mut self, event: &Event<'_>, touched: &[Slot], access: Access) -> io::Result<()> {
        let at = self.at(event)?;
        let Some(access) = self.directives.wanted(event.thread, access) else { return Ok(()) };
        let stated = self.order;
        for &slot in touched {
            let location = self.objects.memory.variables.location_of(slot);
            match location.retention {
                Retention::All => {}
                // That who allocates memory clears it makes it nobody's yet.
                Retention::First if matches!(event.op, Raw::Zeroed { .. }) => continue,
                Retention::First => self.objects.memory.variables.forget(slot),
                // Where accesses belong is found for several of them at once.
                Retention::NoMore => continue,
            }
            let meant = self.directives.as_annotated(access, location.address);
            // A race that is meant orders nothing.
            self.order = if meant == access { stated } else { MemoryOrder::Relaxed };
            let access = meant;
            let variable = self.variable(event, slot)?;
            let left = match &mut self.repetitions {
                Some(repetitions) => repetitions.left_of(event.thread, variable, access),
                None => Some(access),
            };
            let Some(access) = left else { continue };
            if matches!(access, Access::Read | Access::AtomicRead) {
                let segment = self.threads[event.thread as usize].segment;
                if self.spinning.repeats(event.thread, segment, variable, at.location) {
                    continue;
                }
            } else {
                self.spinning.write(variable);
            }
            if let (Some(Role::Count), Access::AtomicUpdate) = (at.role, access) {
                self.counts.insert(location.address);
            }
            let op = match access {
                Access::Read => Op::Read(variable),
                Access::Write => Op::Write(variable),
                Access::AtomicRead => Op::AtomicRead(variable),
                Access::AtomicWrite => Op::AtomicWrite(variable),
                Access::AtomicUpdate => Op::AtomicUpdate(variable),
                Access::ReadThenWrite => {
                    self.write(event, Op::Read(variable), at)?;
                    Op::Write(variable)
                }
            };
            self.write(event, op, at)?;
        }
        self.order = stated;
        Ok(())
    }

    /// An access, whether or not its memory is a variable of the trace: for a sink that is not interested in variables.
    fn any_access(&mut self, event: &Event<'_>, address: u64, length: u64, access: Access) -> io::Result<()> {
        let Some(access) = self.directives.wanted(event.thread, access) else { return Ok(()) };
        let counts = access == Access::AtomicUpdate && matches!(event.op, Raw::AtomicUpdate { .. });
        if counts && self.located(event)?.role == Some(Role::Count) {
            self.counts.insert(address);
        }
        if !self.output.sink.wants_source(event) {
            return Ok(());
        }
        let at = self.located(event)?;
        let kinds = [
            Some(self.directives.as_annotated(access, address)),
            self.directives.meant_within(access, address, length),
        ];
        for access in kinds.into_iter().flatten() {
            for &kind in access.kinds() {
                self.output.sink.translated(event, kind, Some(at.location), at.stack);
            }
        }
        Ok(())
    }

    fn variable(&mut self, event: &Event<'_>, slot: Slot) -> io::Result<VariableId> {
        if let Some(known) = self.objects.known_variable(slot) {
            return Ok(known);
        }
        let first_use = FirstUse::by(event);
        self.objects.new_variable(slot, first_use, &mut self.output)
    }
}
