//! Which variables are loaded, where the user wants less than all of them: a pass over the log between the other two.
//!
//! A variable is kept or left out with all its accesses, so a read in the trace saw the write that the trace says it saw. What is accessed
//! atomically is always kept: it is how threads wait for each other.

use std::io;

use wire::{Event, Op as Raw};

use super::modules::Modules;
use super::sharing::Shared;
use super::sink::Nowhere;
use super::stacks::{Calls, Stacks};
use super::variables::{Slot, Variables};
use super::{Options, Sample};

/// What is loaded.
#[derive(Debug, Default)]
pub(super) enum Chosen {
    #[default]
    All,
    /// By slot; those that are not in the list are not.
    Some(Vec<bool>),
}

impl Chosen {
    /// Finds out what these options choose of the variables that there are.
    pub(super) fn by<'a>(
        options: &Options,
        modules: Modules,
        events: impl Iterator<Item = Event<'a>>,
        shared: &Shared,
    ) -> io::Result<Chosen> {
        let Options { sample, include, exclude, .. } = options;
        if sample.is_none() && include.is_empty() && exclude.is_empty() {
            return Ok(Chosen::All);
        }
        let mut choosing = Choosing {
            sample: *sample,
            modules,
            stacks: Stacks::new(include.clone(), exclude.clone()),
            sink: Nowhere,
            calls: Vec::new(),
            variables: Variables::new(shared.clone()),
            chosen: Vec::new(),
            touched: Vec::new(),
        };
        for event in events {
            choosing.event(&event)?;
        }
        Ok(Chosen::Some(choosing.chosen))
    }

    #[inline]
    pub(super) fn keeps(&self, slot: Slot) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Some(chosen) => chosen.get(slot.index()).is_some_and(|&chosen| chosen),
        }
    }
}

struct Choosing {
    sample: Option<Sample>,
    modules: Modules,
    /// Knows the patterns of functions and files.
    stacks: Stacks,
    /// Locations are found while names are written; here nobody reads them.
    sink: Nowhere,
    /// The functions each thread is in.
    calls: Vec<Calls>,
    variables: Variables,
    chosen: Vec<bool>,
    touched: Vec<Slot>,
}

impl Choosing {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let thread = event.thread as usize;
        if self.calls.len() <= thread {
            self.calls.resize_with(thread + 1, Calls::default);
        }
        match event.op {
            Raw::FunctionEntry { call } => self.stacks.enter(&mut self.calls[thread], event.pc, call),
            Raw::FunctionExit => self.calls[thread].exit(),
            Raw::Read { address, size } | Raw::Write { address, size } | Raw::ReadWrite { address, size } => {
                self.plain(event, address, size.into())?;
            }
            Raw::ReadRange { address, length }
            | Raw::WriteRange { address, length }
            | Raw::Zeroed { address, length } => self.plain(event, address, length)?,
            Raw::AtomicRead { address, size }
            | Raw::AtomicWrite { address, size }
            | Raw::AtomicUpdate { address, size } => {
                self.touch(address, size.into());
                self.keep(|_| true);
            }
            _ => drop(self.variables.follow(&event.op)),
        }
        Ok(())
    }

    /// An access that is not atomic.
    fn plain(&mut self, event: &Event<'_>, address: u64, length: u64) -> io::Result<()> {
        self.touch(address, length);
        if self.touched.is_empty() {
            return Ok(());
        }
        let calls = self.calls[event.thread as usize].current();
        let at = self.stacks.at(calls, event.pc, &mut self.modules, &mut self.sink)?;
        let sample = self.sample;
        self.keep(|slot| at.wanted && sample.is_none_or(|sample| sample.keeps(slot)));
        Ok(())
    }

    fn touch(&mut self, address: u64, length: u64) {
        self.touched.clear();
        self.variables.touched(address, length, |slot| self.touched.push(slot));
    }

    /// Keeps those of the touched variables that are to be kept.
    fn keep(&mut self, is_kept: impl Fn(Slot) -> bool) {
        for &slot in self.touched.iter().filter(|&&slot| is_kept(slot)) {
            if self.chosen.len() <= slot.index() {
                self.chosen.resize(slot.index() + 1, false);
            }
            self.chosen[slot.index()] = true;
        }
    }
}

impl Sample {
    /// Whether a variable is among the kept: the same for all its accesses.
    fn keeps(self, slot: Slot) -> bool {
        let mut mixed = (slot.index() as u64 ^ self.seed.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64 <= self.share
    }
}
