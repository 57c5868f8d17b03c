//! Saturation: paper 1's rules 1 and 2 in their transitive form, to a fixpoint.
//!
//! *Exclusion* (rule 1): of two sections of a lock one comes first. If the second cannot come first,
//! because the first's acquire is before something in the second's section or because the second
//! never ends, then the first's release is before the second's acquire.
//!
//! *Sources* (rule 2): a read must see its source. A write after the source comes after the read; a
//! write before the read comes before the source.
//!
//! Along a chain both are monotone: the last section, or write, of another chain that a rule catches implies
//! the earlier ones by program order. So an event asks every other chain for one event only, by binary
//! search. And it asks only when it may get a new answer (`agenda.rs`): when it is newly needed, or has
//! learnt of the other chain.

use check::Model;
use order::{LockUse, Node, Section};
use trace::{EventId, LockId, ThreadId, VariableId};

use crate::state::{Before, Conflict, NONE, RequiredSource, State, Stretch, Why};

/// A needed section, and where it is.
#[derive(Clone, Copy)]
struct NeededSection {
    lock: LockId,
    chain: u32,
    acquire: u32,
    release: u32,
    shared: bool,
}

impl NeededSection {
    fn acquire(self) -> Node {
        Node { chain: self.chain, position: self.acquire }
    }

    fn excludes(self, other: &LockUse) -> bool {
        !(self.shared && other.shared)
    }
}

impl<'s> State<'s> {
    /// Applies the rules until they are silent.
    pub(crate) fn saturate(&mut self) -> Result<(), Conflict> {
        loop {
            self.mind_budget()?;
            if let Some(stretch) = self.agenda.new.pop_front() {
                self.look_at_new(stretch)?;
            } else if let Some(read) = self.agenda.bound.pop() {
                self.look_at_bound(read)?;
            } else if let Some((stretch, about)) = self.agenda.next_learnt() {
                self.look_at_learnt(stretch, about)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Forgets what has been looked at.
    pub(crate) fn look_at_everything(&mut self) {
        self.agenda.new.clear();
        for chain in 0..self.chains.len() as u32 {
            let (first, end) = (self.chains[chain as usize].floor, self.order.len(chain));
            self.agenda.new.push_back(Stretch { chain, first, end });
        }
    }

    /// Newly needed events: whatever the rules say of them.
    fn look_at_new(&mut self, stretch: Stretch) -> Result<(), Conflict> {
        let index = self.index;
        let thread = self.chains[stretch.chain as usize].thread;
        for section in self.open_at(stretch) {
            self.exclude_with_all(section)?;
        }
        for section in index.sections_between(thread, stretch.first, stretch.end) {
            let section = self.needed_section(section);
            self.exclude_open(section)?;
            self.exclude_with_all(section)?;
            self.exclude_unending(section)?;
        }
        for &position in self.contended(thread, stretch) {
            let node = Node { chain: stretch.chain, position };
            let event = index.threads().of_thread(thread)[position as usize];
            let op = index.trace().op(event);
            if op.reads().is_some() {
                self.look_at_bound(node)?;
            }
            if let Some(variable) = op.writes() {
                self.after_first_reads(variable, node)?;
                for (other, _) in index.thread_writes().of(variable.index()) {
                    self.after_reads(variable, node, other)?;
                }
            }
            self.mind_budget()?;
        }
        Ok(())
    }

    /// A read newly bound to its source.
    fn look_at_bound(&mut self, read: Node) -> Result<(), Conflict> {
        let event = self.event(read);
        let (Some(variable), Some(seen)) =
            (self.index.trace().op(event).reads(), self.required_source(event, read))
        else {
            return Ok(());
        };
        for (other, writes) in self.index.thread_writes().of(variable.index()) {
            self.before_overwrite(read, seen, other, writes)?;
            self.before_source(read, seen, other, writes)?;
        }
        Ok(())
    }

    /// Events that have learnt of another chain.
    fn look_at_learnt(&mut self, stretch: Stretch, about: u32) -> Result<(), Conflict> {
        let index = self.index;
        let (thread, other) =
            (self.chains[stretch.chain as usize].thread, self.chains[about as usize].thread);
        for section in self.open_at(stretch) {
            self.exclude_known(section, other)?;
        }
        for section in index.sections_between(thread, stretch.first, stretch.end) {
            self.exclude_known(self.needed_section(section), other)?;
        }
        for &position in self.contended(thread, stretch) {
            let node = Node { chain: stretch.chain, position };
            let event = index.threads().of_thread(thread)[position as usize];
            let op = index.trace().op(event);
            let Some(access) = op.access() else { continue };
            let writes = index.thread_writes().by(access.variable.index(), other);
            if writes.is_empty() {
                continue;
            }
            if access.reads
                && let Some(seen) = self.required_source(event, node)
            {
                self.before_source(node, seen, other, writes)?;
            }
            if access.writes {
                self.after_reads(access.variable, node, other)?;
            }
            self.mind_budget()?;
        }
        Ok(())
    }

    /// The accesses in a stretch that rule 2 may be about.
    fn contended(&self, thread: ThreadId, stretch: Stretch) -> &'s [u32] {
        if self.requirements.model == Model::Sync && self.requirements.source.is_none() {
            return &[];
        }
        self.index.contested_between(thread, stretch.first, stretch.end)
    }

    /// The needed sections that are open where a stretch begins, but began in the window.
    fn open_at(&self, stretch: Stretch) -> Vec<NeededSection> {
        let chain = &self.chains[stretch.chain as usize];
        let open =
            self.index.held_after(chain.thread, stretch.first).map(|section| self.needed_section(section));
        open.filter(|section| section.acquire >= chain.floor).collect()
    }

    fn needed_section(&self, section: &Section) -> NeededSection {
        let place = |event: EventId| self.index.threads().place(event) as u32;
        NeededSection {
            lock: section.lock,
            chain: self.chain_of[section.thread.index()],
            acquire: place(section.acquire),
            release: section.release.map_or(NONE, place),
            shared: section.shared,
        }
    }

    fn exclude_with_all(&mut self, section: NeededSection) -> Result<(), Conflict> {
        for (other, _) in self.index.thread_sections().of(section.lock.index()) {
            self.exclude_known(section, other)?;
        }
        Ok(())
    }

    /// Sections of another thread that begin before something in this one come before it.
    fn exclude_known(&mut self, section: NeededSection, other: ThreadId) -> Result<(), Conflict> {
        let chain = self.chain_of[other.index()];
        if chain == NONE || chain == section.chain {
            return Ok(());
        }
        self.steps += 1;
        let last = section.release.min(self.order.len(section.chain) - 1);
        let known = self.order.before(Node { chain: section.chain, position: last }, chain);
        self.exclude_before(section, other, known, true)
    }

    /// The sections of another thread that begin before this position of it come before this section.
    fn exclude_before(
        &mut self,
        section: NeededSection,
        other: ThreadId,
        before: u32,
        by_path: bool,
    ) -> Result<(), Conflict> {
        let chain = self.chain_of[other.index()];
        let floor = self.chains[chain as usize].floor;
        let list = self.index.thread_sections().by(section.lock.index(), other);
        let mut count = list.partition_point(|held| held.acquire < before);
        while let Some(index) = count.checked_sub(1) {
            let held = list[index];
            if held.acquire < floor {
                break;
            }
            if !section.excludes(&held) {
                count = match held.last_exclusive {
                    NONE => break,
                    exclusive => exclusive as usize + 1,
                };
                continue;
            }
            self.come_after(section, Node { chain, position: held.acquire }, held.release, by_path)?;
            if held.release == held.latest_release {
                break;
            }
            count = index;
        }
        Ok(())
    }

    /// A section comes after the release of another one.
    fn come_after(
        &mut self,
        section: NeededSection,
        acquire: Node,
        release: u32,
        by_path: bool,
    ) -> Result<(), Conflict> {
        let wanted = section.acquire();
        let reached = by_path.then(|| self.order.first_after(acquire, section.chain));
        if release == NONE {
            return Err(Conflict::NeverReleased { held: acquire, wanted, reached });
        }
        let release = Node { chain: acquire.chain, position: release };
        if self.is_needed(release) && self.order.precedes(release, wanted) {
            return Ok(());
        }
        let why = match reached {
            Some(reached) => Why::Exclusion { acquire, reached },
            None => Why::NeverReleased,
        };
        self.put_before(self.event(release), wanted, why).map(drop)
    }

    /// Of a new section and one of another chain that never ends, the one that never ends comes last.
    fn exclude_unending(&mut self, section: NeededSection) -> Result<(), Conflict> {
        let ends = section.release < self.chains[section.chain as usize].ceiling;
        for (other, list) in self.index.thread_sections().of(section.lock.index()) {
            let chain = self.chain_of[other.index()];
            if chain == NONE || chain == section.chain {
                continue;
            }
            self.steps += 1;
            if !ends {
                self.exclude_before(section, other, self.order.len(chain), false)?;
            }
            let (floor, ceiling) = (self.chains[chain as usize].floor, self.chains[chain as usize].ceiling);
            let needed = list.partition_point(|held| held.acquire < self.order.len(chain));
            let unending = list[..needed]
                .iter()
                .rev()
                .take_while(|held| held.latest_release >= ceiling && held.acquire >= floor);
            let unending = unending.filter(|held| held.release >= ceiling && section.excludes(held));
            if let Some(&LockUse { acquire, release, shared, .. }) = unending.last() {
                let last = NeededSection { lock: section.lock, chain, acquire, release, shared };
                self.come_after(last, section.acquire(), section.release, false)?;
            }
        }
        Ok(())
    }

    /// Sections open where the window begins end before any other opens.
    fn exclude_open(&mut self, section: NeededSection) -> Result<(), Conflict> {
        let start = self.window.start;
        if self.window.before == Before::Unknown || start == EventId(0) {
            return Ok(());
        }
        let thread = self.chains[section.chain as usize].thread;
        for open in self.index.open_sections(section.lock, start) {
            if open.thread != thread && !(open.shared && section.shared) {
                let release = open.release.ok_or(Conflict::WithPrefix)?;
                self.put_before(release, section.acquire(), Why::Recorded)?;
            }
        }
        Ok(())
    }

    /// The first write of a thread after the source comes after the read.
    fn before_overwrite(
        &mut self,
        read: Node,
        seen: RequiredSource,
        other: ThreadId,
        writes: &[u32],
    ) -> Result<(), Conflict> {
        let chain = self.chain_of[other.index()];
        if chain == NONE {
            return Ok(());
        }
        self.steps += 1;
        let floor = self.chains[chain as usize].floor;
        let (source, first) = match seen {
            RequiredSource::Write(source) => {
                let source = self.locate(source);
                (Some(source), self.order.first_after(source, chain).max(floor))
            }
            RequiredSource::Initial | RequiredSource::Earlier => (None, floor),
        };
        let mut index = writes.partition_point(|&position| position < first);
        if chain == read.chain && writes.get(index) == Some(&read.position) {
            // An atomic update does not overwrite its own source before reading it.
            index += 1;
        }
        let Some(&position) = writes.get(index) else { return Ok(()) };
        let write = Node { chain, position };
        if !self.is_needed(write) {
            return Ok(());
        }
        let why =
            if seen == RequiredSource::Earlier { Why::Recorded } else { Why::BeforeOverwrite { source } };
        self.put_before(self.event(read), write, why).map(drop)
    }

    /// The last write of a thread before the read comes before the source.
    fn before_source(
        &mut self,
        read: Node,
        seen: RequiredSource,
        other: ThreadId,
        writes: &[u32],
    ) -> Result<(), Conflict> {
        let (RequiredSource::Write(source), chain) = (seen, self.chain_of[other.index()]) else {
            return Ok(());
        };
        if chain == NONE {
            return Ok(());
        }
        self.steps += 1;
        let before = self.order.before(read, chain);
        let count = writes.partition_point(|&position| position < before);
        let Some(index) = count.checked_sub(1) else { return Ok(()) };
        let write = Node { chain, position: writes[index] };
        let source = self.locate(source);
        if write == source || write.position < self.chains[chain as usize].floor {
            return Ok(());
        }
        self.put_before(self.event(write), source, Why::BeforeSource { read }).map(drop)
    }

    /// A write comes after the reads of what it overwrites: of the writes of a thread that come before it, but not
    /// before its own thread's last one.
    fn after_reads(&mut self, variable: VariableId, write: Node, other: ThreadId) -> Result<(), Conflict> {
        let chain = self.chain_of[other.index()];
        if chain == NONE {
            return Ok(());
        }
        self.steps += 1;
        let known = self.order.before(write, chain);
        let floor = self.chains[chain as usize].floor;
        let from = match self.write_before(variable, write) {
            Some(previous) if chain == write.chain => previous.position,
            Some(previous) => self.order.before(previous, chain).max(floor),
            None => floor,
        };
        let index = self.index;
        let sources = index.thread_writes().by(variable.index(), other);
        let sources = &sources[sources.partition_point(|&source| source < from)..];
        for &position in sources.iter().take_while(|&&source| source < known) {
            let source = Node { chain, position };
            let readers: Vec<Node> = self.readers(self.event(source)).filter(|&read| read != write).collect();
            for read in readers {
                let why = Why::BeforeOverwrite { source: Some(source) };
                self.put_before(self.event(read), write, why)?;
            }
        }
        Ok(())
    }

    /// The first write of a thread comes after all reads of what was there before.
    fn after_first_reads(&mut self, variable: VariableId, write: Node) -> Result<(), Conflict> {
        if self.write_before(variable, write).is_some() {
            return Ok(());
        }
        let reads: Vec<(Node, RequiredSource)> =
            self.first_readers(variable).filter(|&(read, _)| read != write).collect();
        for (read, seen) in reads {
            let why = if seen == RequiredSource::Earlier {
                Why::Recorded
            } else {
                Why::BeforeOverwrite { source: None }
            };
            self.put_before(self.event(read), write, why)?;
        }
        Ok(())
    }

    /// The write of the same variable before this one in its thread, if it is in the window.
    fn write_before(&self, variable: VariableId, write: Node) -> Option<Node> {
        let chain = &self.chains[write.chain as usize];
        let own = self.index.thread_writes().by(variable.index(), chain.thread);
        let index = own.partition_point(|&position| position < write.position).checked_sub(1)?;
        (own[index] >= chain.floor).then_some(Node { chain: write.chain, position: own[index] })
    }
}
