//! What lies in memory: the variables of the program, the blocks they are in, and what each is called.

use rustc_hash::FxHashMap;
use std::rc::Rc;
use wire::Passage;

use super::blocks::{BlockNumber, Placed};
use super::frames::Frames;
use super::heap::Site;
use super::modules::Modules;
use super::sink::Sink;
use super::variables::Variables;

/// How a block came to be.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// From the allocator: its name, and where it was allocated.
    Heap(String, Rc<Site>),
    /// A thread's stack: the thread's number and name.
    Stack(u32, String),
}

/// Who uses an object, and where: what is on a stack is named for the function that touches it first.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstUse {
    pub(super) thread: u32,
    /// Where the code continues after the event.
    pub(super) pc: u64,
}

/// What names come from, and where they go.
pub(super) struct Output<S: Sink> {
    pub(super) modules: Modules,
    pub(super) sink: S,
}

/// The memory of the program so far.
pub(super) struct Memory {
    pub(super) variables: Variables,
    origins: FxHashMap<BlockNumber, Origin>,
    pub(super) frames: Frames,
}

impl Memory {
    pub(super) fn new(variables: Variables) -> Memory {
        Memory { variables, origins: FxHashMap::default(), frames: Frames::default() }
    }

    /// The number of the block that an address belongs to.
    pub(super) fn block_of(&self, address: u64) -> BlockNumber {
        self.variables.block_at(address).map_or(BlockNumber::NONE, |placed| placed.number)
    }

    /// Notes how a block came to be, and forgets those it took the place of.
    pub(super) fn place(&mut self, placed: Placed, gone: &[Placed], origin: Origin) {
        for block in gone {
            self.origins.remove(&block.number);
        }
        self.origins.insert(placed.number, origin);
    }

    /// The name of a block that was allocated.
    pub(super) fn name_of_block(&self, block: BlockNumber) -> Option<&str> {
        match self.origins.get(&block)? {
            Origin::Heap(name, _) => Some(name),
            Origin::Stack(..) => None,
        }
    }

    /// A name for what lies at an address, if the sink wants names.
    pub(super) fn name_in<S: Sink>(
        &mut self,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        output: &mut Output<S>,
    ) -> String {
        match S::WANTS_NAMES {
            true => self.name(address, length, first_use, &mut output.modules),
            false => String::new(),
        }
    }

    /// A name for what lies at an address and is so long, if that is known.
    fn name(
        &mut self,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        modules: &mut Modules,
    ) -> String {
        match Passage::of(address) {
            Some(Passage::Team(number)) => return format!("team {}", number / 8),
            Some(Passage::Iteration(number)) => return format!("iteration {number}"),
            Some(Passage::File(number)) => return format!("file descriptor {number}"),
            _ => {}
        }
        if let Some(placed) = self.variables.block_at(address) {
            let offset = address - placed.start;
            match self.origins.get(&placed.number).cloned() {
                Some(Origin::Heap(name, site)) => {
                    return match &site.holds {
                        Some(holds) => name + &holds.part(modules, offset, length),
                        None => format!("{name}+{offset}"),
                    };
                }
                Some(Origin::Stack(thread, name)) => {
                    return self.local(thread, address, length, first_use, modules).unwrap_or_else(|| {
                        let below = placed.length - offset;
                        let function = modules.function(first_use.pc.saturating_sub(1));
                        match function.filter(|_| first_use.thread == thread) {
                            Some(function) => format!("local of {function} in {name} at -{below}"),
                            None => format!("stack of {name} at -{below}"),
                        }
                    });
                }
                None => {}
            }
        }
        if let Some(symbol) = modules.data_symbol(address) {
            let offset = address - symbol.address;
            if let Some(part) = modules.part(&symbol, address, length) {
                return symbol.name + &part;
            }
            let whole = offset == 0 && length.is_none_or(|length| length == symbol.size);
            return if whole { symbol.name } else { format!("{}+{offset}", symbol.name) };
        }
        match modules.module_at(address) {
            Some((module, own)) => format!("{module}+{own:#x}"),
            None => format!("{address:#x}"),
        }
    }

    /// The name of a local variable of a thread.
    fn local(
        &mut self,
        owner: u32,
        address: u64,
        length: Option<u64>,
        first_use: FirstUse,
        modules: &mut Modules,
    ) -> Option<String> {
        let own_use = (first_use.thread == owner).then_some(first_use.pc);
        let frames = self.frames.of(owner);
        for (depth, frame) in frames.iter().enumerate().rev() {
            let Some(base) = frame.base else { continue };
            // Where the function is now.
            let pc = frames.get(depth + 1).map(|inner| inner.call).or(own_use).unwrap_or(frame.entry);
            let offset = address.wrapping_sub(base) as i64;
            if let Some(name) = modules.local(pc.saturating_sub(1), offset, length) {
                return Some(name);
            }
        }
        let (pc, frame) = (own_use?, *frames.last()?);
        // A library that has no debug information may be in between.
        let function = modules.function(pc.saturating_sub(1))?;
        if modules.function(frame.entry.saturating_sub(1))? != function {
            return None;
        }
        if let Some(offset) = modules.argument_in_frame(pc)
            && let Some(name) = modules.local(pc.saturating_sub(1), offset, length)
        {
            self.frames.set_base(owner, address.wrapping_sub(offset as u64));
            return Some(name);
        }
        modules.local_by_line(pc.saturating_sub(1), address, length)
    }
}
