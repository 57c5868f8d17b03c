//! Blocks of memory: where each was allocated, and what it holds.

use std::io;
use std::rc::Rc;

use trace::Op;
use wire::{Event, Op as Raw};

use super::Translator;
use crate::heap::{Sample, Site};
use crate::memory::Origin;
use crate::pool::{self, PoolAccesses};
use crate::sink::Sink;
use crate::stacks::At;

/// Calls that are looked at to find out who allocates a block.
const MOST_CALLS: usize = 32;
/// How many places and sizes of allocations are distinguished; further ones have no types.
const MOST_SITES: usize = 1 << 16;
/// Allocations whose accesses are looked at to find out what they hold.
const MOST_LOOKS: usize = 256;
/// Pools whose accesses are looked at.
const MOST_POOLS: usize = 4;
/// Names of cleared blocks that are kept.
const MOST_CLEARED: usize = 4096;

impl<S: Sink> Translator<S> {
    pub(super) fn begin(&mut self, event: &Event<'_>) -> Option<Op> {
        let name = self.threads[event.thread as usize].name.clone();
        if let Raw::Begin { thread_pointer: pointer @ 1.., .. } = event.op {
            self.objects.memory.thread_pointers.insert(pointer, name.clone());
        }
        if let Some((placed, gone)) = self.objects.memory.variables.follow(&event.op) {
            self.objects.block(placed, &gone, Origin::Stack(event.thread, name));
        }
        (!self.threads[event.thread as usize].acted).then_some(Op::Begin)
    }

    pub(super) fn allocate(&mut self, event: &Event<'_>, at: At) -> io::Result<Option<Op>> {
        let Some((placed, gone)) = self.objects.memory.variables.follow(&event.op) else { return Ok(None) };
        let site = self.site(event, at);
        let name = if S::WANTS_NAMES { site.name() } else { String::new() };
        let count = self.allocations.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}#{count}") };
        self.objects.block(placed, &gone, Origin::Heap(name, site));
        if let Some(accesses) = self.next_pool.take() {
            self.objects.memory.note_pool(placed.number, accesses);
        }
        let block = self.objects.block_id(placed.number, &mut self.output.sink)?;
        // `realloc` frees and allocates at one place, at once.
        if block.is_some() && self.freed == Some((event.thread, event.pc)) {
            self.reallocations.insert(at.location);
        }
        Ok(block.map(Op::Allocate))
    }

    /// Notes that the block at an address, if threads share something of it, was allocated full of zeroes.
    pub(super) fn note_cleared(&mut self, address: u64) {
        let memory = &self.objects.memory;
        let block = memory.block_of(address);
        if let Some(name) = memory.name_of_block(block).filter(|name| !name.is_empty())
            && self.objects.is_named_block(block)
            && self.cleared.len() < MOST_CLEARED
        {
            let (base, number) = name.rsplit_once('#').unwrap_or((name, ""));
            let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            self.cleared.insert(if is_numbered { base } else { name }.to_owned());
        }
    }

    /// Where a block is allocated, and what it holds if that is known.
    fn site(&mut self, event: &Event<'_>, at: At) -> Rc<Site> {
        let Raw::Allocate { size, .. } = event.op else { return Rc::default() };
        if !S::WANTS_NAMES {
            return Rc::default();
        }
        let chain = self.threads[event.thread as usize].calls.current();
        let key = (chain, event.pc, size);
        if let Some(known) = self.sites.get(&key) {
            return known.clone();
        }
        let calls: Vec<u64> =
            std::iter::once(event.pc).chain(self.stacks.calls(chain)).take(MOST_CALLS).collect();
        let location = self.stacks.location(at.location).unwrap_or("?");
        if self.sites.len() == MOST_SITES {
            return Rc::new(Site { location: location.to_owned(), holds: None });
        }
        let site = Rc::new(Site::find(&mut self.output.modules, &calls, size, location));
        self.sites.insert(key, site.clone());
        site
    }

    /// Whether the accesses to the block that this event allocates would say what it holds: nothing else does.
    pub(crate) fn wants_accesses(&mut self, event: &Event<'_>) -> io::Result<bool> {
        let is_kept =
            matches!(event.op, Raw::Allocate { .. }) && self.objects.memory.variables.keeps_some_of_next();
        if !is_kept || !S::WANTS_NAMES || self.looked_ahead.len() == MOST_LOOKS {
            return Ok(false);
        }
        let at = self.at(event)?;
        let chain = self.threads[event.thread as usize].calls.current();
        Ok(self.site(event, at).holds.is_none() && self.looked_ahead.insert((chain, event.pc)))
    }

    /// Whether the block that this event allocates may be a pool, whose accesses say what its parts are.
    pub(crate) fn wants_pool_accesses(&mut self, event: &Event<'_>) -> io::Result<bool> {
        let Raw::Allocate { size: pool::SMALLEST.., .. } = event.op else { return Ok(false) };
        if !S::WANTS_NAMES || self.pools == MOST_POOLS || !self.objects.memory.variables.keeps_some_of_next()
        {
            return Ok(false);
        }
        let at = self.at(event)?;
        let site = self.site(event, at);
        Ok(site.holds.as_ref().is_none_or(|holds| holds.is_bytes(&mut self.output.modules)))
    }

    /// Takes note of the accesses to a pool before it is allocated.
    pub(crate) fn note_pool(&mut self, accesses: PoolAccesses) {
        self.pools += 1;
        self.next_pool = Some(accesses);
    }

    /// Learns what a block holds from accesses to it.
    pub(crate) fn learn(&mut self, event: &Event<'_>, samples: &[Sample]) -> io::Result<()> {
        let Raw::Allocate { size, .. } = event.op else { return Ok(()) };
        let at = self.at(event)?;
        let mut site = Rc::unwrap_or_clone(self.site(event, at));
        site.learn(&mut self.output.modules, size, samples);
        let chain = self.threads[event.thread as usize].calls.current();
        self.sites.insert((chain, event.pc, size), Rc::new(site));
        Ok(())
    }
}
