//! Saturation: paper 1's rules 1 and 2 in their transitive form, to a fixpoint.
//!
//! *Exclusion* (rule 1): of two sections of a lock one comes first. If the second cannot come first,
//! because the first's acquire is before something in the second's section or because the second
//! never ends, then the first's release is before the second's acquire.
//!
//! *Sources* (rule 2): a read must see its source. A write after the source comes after the read; a
//! write before the read comes before the source.
//!
//! Along a chain both are monotone: the earliest section or write that a rule catches implies the
//! rest by program order. So each section, and each read, asks every other chain for one event
//! only, by binary search.

use order::Node;

use crate::state::{Conflict, NONE, State, Why};
use crate::uses::{Held, Seen};

impl State<'_> {
    /// Closes and applies the rules until they are silent.
    pub(crate) fn saturate(&mut self) -> Result<(), Conflict> {
        loop {
            self.close()?;
            let known = self.log.len();
            self.exclude()?;
            self.keep_sources()?;
            if self.log.len() == known {
                return Ok(());
            }
        }
    }

    fn exclude(&mut self) -> Result<(), Conflict> {
        for lock in 0..self.locks.len() {
            self.exclude_open(lock)?;
            let users = self.locks[lock].chains.len();
            if users < 2 {
                continue;
            }
            for first in 0..users {
                let chain = self.locks[lock].chains[first].chain;
                for index in 0..self.locks[lock].chains[first].all.len() {
                    let held = self.locks[lock].chains[first].all.get(index);
                    for second in (0..users).filter(|&second| second != first) {
                        self.exclude_pair(lock, chain, held, second)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Orders one section before the first section of another chain that cannot come before it.
    fn exclude_pair(&mut self, lock: usize, chain: u32, held: Held, second: usize) -> Result<(), Conflict> {
        let acquire = Node { chain, position: held.acquire };
        let sections = &self.locks[lock].chains[second];
        let other = sections.chain;
        let list = if held.shared { &sections.exclusive } else { &sections.all };
        let reached = match self.order.first_after(acquire, other) {
            position if position < self.order.len(other) => position,
            _ => NONE,
        };
        let limit = reached.min(self.chains[other as usize].ceiling);
        let Some(caught) = list.first_ending_at_or_after(limit) else { return Ok(()) };
        let wanted = Node { chain: other, position: caught.acquire };
        let by_path = reached <= caught.release && reached != NONE;
        if held.release == NONE {
            let reached = by_path.then_some(reached);
            return Err(Conflict::NeverReleased { held: acquire, wanted, reached });
        }
        let release = Node { chain, position: held.release };
        if self.is_needed(release) && self.order.precedes(release, wanted) {
            return Ok(());
        }
        let why = if by_path { Why::Exclusion { acquire, reached } } else { Why::NeverReleased };
        let release = self.event(release);
        self.put_before(release, wanted, why)?;
        self.close()
    }

    /// Sections open where the window begins end before any other opens.
    fn exclude_open(&mut self, lock: usize) -> Result<(), Conflict> {
        for open in 0..self.locks[lock].open.len() {
            let (thread, release, shared) = self.locks[lock].open[open];
            for user in 0..self.locks[lock].chains.len() {
                let sections = &self.locks[lock].chains[user];
                let (chain, list) =
                    (sections.chain, if shared { &sections.exclusive } else { &sections.all });
                let Some(Held { acquire, .. }) = list.first() else { continue };
                if self.chains[chain as usize].thread == thread {
                    continue;
                }
                let release = release.ok_or(Conflict::WithPrefix)?;
                self.put_before(release, Node { chain, position: acquire }, Why::Recorded)?;
                self.close()?;
            }
        }
        Ok(())
    }

    fn keep_sources(&mut self) -> Result<(), Conflict> {
        for variable in 0..self.variables.len() {
            let mut index = 0;
            while index < self.variables[variable].demands.len() {
                let demand = self.variables[variable].demands[index];
                let mut user = 0;
                while user < self.variables[variable].writes.len() {
                    self.before_overwrite(variable, user, demand.read, demand.source)?;
                    if let Seen::Write(source) = demand.source {
                        self.before_source(variable, user, demand.read, source)?;
                    }
                    user += 1;
                }
                index += 1;
            }
        }
        Ok(())
    }

    /// The first write of a chain after the source comes after the read.
    fn before_overwrite(
        &mut self,
        variable: usize,
        user: usize,
        read: Node,
        source: Seen,
    ) -> Result<(), Conflict> {
        let (chain, writes) = &self.variables[variable].writes[user];
        let (chain, first) = match source {
            Seen::Write(source) => (*chain, self.order.first_after(source, *chain)),
            Seen::Initial | Seen::Earlier => (*chain, 0),
        };
        let mut index = writes.partition_point(|&position| position < first);
        if chain == read.chain && writes.get(index) == Some(&read.position) {
            // An atomic update does not overwrite its own source before reading it.
            index += 1;
        }
        let Some(&position) = writes.get(index) else { return Ok(()) };
        let write = Node { chain, position };
        if self.order.precedes(read, write) {
            return Ok(());
        }
        let why = match source {
            Seen::Write(source) => Why::BeforeOverwrite { source: Some(source) },
            Seen::Initial => Why::BeforeOverwrite { source: None },
            Seen::Earlier => Why::Recorded,
        };
        let read = self.event(read);
        self.put_before(read, write, why)?;
        self.close()
    }

    /// The last write of a chain before the read comes before the source.
    fn before_source(
        &mut self,
        variable: usize,
        user: usize,
        read: Node,
        source: Node,
    ) -> Result<(), Conflict> {
        let (chain, writes) = &self.variables[variable].writes[user];
        let before = self.order.before(read, *chain);
        let count = writes.partition_point(|&position| position < before);
        let Some(index) = count.checked_sub(1) else { return Ok(()) };
        let write = Node { chain: *chain, position: writes[index] };
        if write == source || self.order.precedes(write, source) {
            return Ok(());
        }
        let write = self.event(write);
        self.put_before(write, source, Why::BeforeSource { read })?;
        self.close()
    }
}
