//! What a block from the allocator holds: its type, from the statement that allocates it, or from the declared types of what accesses it.
//!
//! A type is believed only if its size fits the block, and for an access also the offset and the size of the member.

mod library;

use rustc_hash::FxHashMap;
use wire::{Event, Op, Reader};

use super::debug::{DebugInfo, TypeNumber};
use super::modules::{Frame, ModuleNumber, Modules};
use super::source::{Token, tokens};
use super::typing::{Reached, Typing, without_indices};
use library::{Arrangement, Counts, Held, const_first, short_name, without_paths};

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockType {
    /// As the source has it.
    name: String,
    module: ModuleNumber,
    /// None: it is known by name only.
    kind: Option<TypeNumber>,
    layout: Layout,
}

/// Where in a block that lies which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// At its start, once.
    One,
    Array,
    /// Once, behind the counts of its owners.
    Counted(Counts),
    /// As an array of pointers.
    Pointers,
    /// As an array that grows down from an offset, where a byte for each begins.
    Table {
        control: u64,
    },
}

impl Layout {
    /// How a number of bytes holds things of a size that are arranged so; none: they do not.
    fn of(arrangement: Arrangement, is_array: bool, own: u64, size: u64) -> Option<Layout> {
        match arrangement {
            Arrangement::Plain if is_array => Some(Layout::Array),
            Arrangement::Plain => Some(Layout::One),
            Arrangement::Array => Some(Layout::Array),
            Arrangement::Counted(counts) => Some(Layout::Counted(counts)),
            Arrangement::Pointers => Some(Layout::Pointers),
            Arrangement::Table => {
                const GROUP: u64 = 16;
                let buckets = (0..u64::BITS).map_while(|power| 1u64.checked_shl(power));
                let mut controls = buckets.map_while(|buckets| {
                    let control = own.checked_mul(buckets)?.checked_next_multiple_of(GROUP)?;
                    let length = control.checked_add(buckets)?.checked_add(GROUP)?;
                    (length <= size).then_some((control, length))
                });
                let (control, _) = controls.find(|&(_, length)| length == size)?;
                Some(Layout::Table { control })
            }
        }
    }
}

/// Where a block was allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The line that a user would name.
    pub(super) location: String,
    pub(super) holds: Option<BlockType>,
}

/// An access to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pc: u64,
    offset: u64,
    /// None: it is a lock or the like.
    length: Option<u64>,
}

/// Callers of an allocating function that are asked for a type, functions of the system apart.
const MOST_CALLERS: usize = 6;
/// A block that is this many times larger than what a caller gets from it is a pool.
pub(super) const SMALL: u64 = 64;
/// The bytes of a pointer.
const POINTER: u64 = 8;
/// Accesses that are looked at to find the type of a block.
const MOST_SAMPLES: usize = 16;
/// Events that are passed over to find them.
const FARTHEST: usize = 100_000;

impl Site {
    /// What is known of an allocation of this size whose call returns to the first of these addresses, and those of its callers. The
    /// location is the one to use if no better is found.
    pub(super) fn find(modules: &mut Modules, calls: &[u64], size: u64, location: &str) -> Site {
        let mut by_name = None;
        let mut callers = 0;
        for &call in calls {
            let address = call.saturating_sub(1);
            for frame in modules.frames(address).to_vec() {
                by_name = by_name.or_else(|| frame.function.as_deref().and_then(Held::by));
                if !frame.is_users() {
                    continue;
                }
                let holds = match &by_name {
                    Some(held) => modules.held(address, held, size),
                    None => modules.allocated(address, &frame, size),
                };
                // A function that gets a large block and hands out parts of it: the block is not what the caller gets.
                let is_pool =
                    callers > 0 && holds.as_ref().is_some_and(|holds| holds.is_small(modules, size));
                if holds.is_some() && !is_pool {
                    return Site { location: frame.location, holds };
                }
                callers += 1;
            }
            if callers >= MOST_CALLERS || by_name.is_some() && callers > 0 {
                break;
            }
        }
        Site { location: location.to_owned(), holds: None }
    }

    /// Looks for the type in what accesses the block.
    pub(super) fn learn(&mut self, modules: &mut Modules, size: u64, samples: &[Sample]) {
        let mut votes: Vec<(BlockType, usize)> = Vec::new();
        for sample in samples {
            let kind = modules.accessed(sample, size);
            let Some(kind) = kind.filter(|kind| !kind.is_small(modules, size)) else { continue };
            match votes.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => votes.push((kind, 1)),
            }
        }
        votes.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        match &votes[..] {
            [(_, most), (_, second), ..] if most == second => {}
            [(kind, _), ..] => self.holds = Some(kind.clone()),
            [] => {}
        }
    }

    /// What blocks from here are called, without what tells them apart.
    pub(super) fn name(&self) -> String {
        let holds = self.holds.as_ref().map_or("block", |holds| &holds.name);
        // The whole path is where the allocation is reported.
        let file = self.location.rsplit_once('/').map_or(&*self.location, |(_, file)| file);
        format!("{holds} ({file})")
    }
}

impl BlockType {
    /// Whether it is one thing that takes a small part of this number of bytes.
    fn is_small(&self, modules: &mut Modules, size: u64) -> bool {
        let Some((kind, debug)) = self.kind.zip(modules.debug_of(self.module)) else { return false };
        let own = debug.types().size(kind);
        self.layout == Layout::One && own > 0 && size / own > SMALL
    }

    /// Whether all that is known of it is that it holds bytes.
    pub(super) fn is_bytes(&self, modules: &mut Modules) -> bool {
        let Some((kind, debug)) = self.kind.zip(modules.debug_of(self.module)) else { return false };
        let types = debug.types();
        self.layout == Layout::Array && types.size(kind) == 1 && !types.is_structure(kind)
    }

    /// What lies so far into the block, as it is written behind the block's name.
    pub(super) fn part(&self, modules: &mut Modules, offset: u64, length: Option<u64>) -> String {
        let unnamed = || format!("+{offset}");
        let start = match self.layout {
            Layout::Counted(counts) if offset < Counts::LENGTH => {
                return counts.named(offset).map_or_else(unnamed, |count| format!("->{count}"));
            }
            Layout::Counted(_) => Counts::LENGTH,
            Layout::Pointers if offset.is_multiple_of(POINTER) => return format!("[{}]", offset / POINTER),
            Layout::One | Layout::Array | Layout::Pointers | Layout::Table { .. } => 0,
        };
        let into = offset - start;
        let Some((kind, debug)) = self.kind.zip(modules.debug_of(self.module)) else {
            return if into == 0 && length.is_none() { String::new() } else { unnamed() };
        };
        let types = debug.types();
        let size = types.size(kind);
        let element = match self.layout {
            Layout::One | Layout::Counted(_) | Layout::Pointers => None,
            Layout::Array => into.checked_div(size).map(|index| (index, index * size)),
            Layout::Table { control } if into >= control => return format!("->control[{}]", into - control),
            Layout::Table { control } => {
                let index = (control - into - 1).checked_div(size);
                index.and_then(|index| Some((index, control.checked_sub((index + 1) * size)?)))
            }
        };
        if let Some((index, first)) = element {
            return format!("[{index}]{}", types.path(kind, into - first, length).text);
        }
        let text = types.path(kind, into, length).text;
        match text.strip_prefix('.') {
            Some(member) => format!("->{member}"),
            None => text,
        }
    }
}

/// Whether a block of a size can hold something of a type, and then whether it is an array of it.
fn fits(debug: &DebugInfo, kind: TypeNumber, size: u64) -> Option<bool> {
    let own = debug.types().size(kind);
    match own {
        0 => None,
        _ if own == size => Some(false),
        _ if size > own && size.is_multiple_of(own) => Some(true),
        // With an array at its end.
        _ if size > own && debug.types().is_structure(kind) => Some(false),
        _ => None,
    }
}

impl Modules {
    /// The type that the statement at a place allocates.
    fn allocated(&mut self, address: u64, frame: &Frame, size: u64) -> Option<BlockType> {
        let text = self.statement_at(frame);
        let (module, own, debug) = self.debug_at(address)?;
        let scope = debug.scope(own);
        let candidates = match &text {
            Some(text) => Typing { debug, scope: scope.as_deref() }.allocated(&tokens(text)),
            None => {
                pointees(debug, own).into_iter().filter(|&kind| debug.types().size(kind) == size).collect()
            }
        };
        let mut fitting = candidates.into_iter().filter_map(|kind| Some((kind, fits(debug, kind, size)?)));
        let (kind, is_array) = fitting.next()?;
        if text.is_none() && fitting.any(|(other, _)| other != kind) {
            return None;
        }
        // `sizeof(message) + length`: what follows it happens to be as long as some more of it.
        let is_extended = text.as_deref().is_some_and(|text| tokens(text).contains(&Token::Sign("+")));
        let is_array = is_array && !(is_extended && debug.types().is_structure(kind));
        named(debug, module, kind, is_array)
    }

    /// The type that a library allocates for the code at an address.
    fn held(&mut self, address: u64, held: &Held, size: u64) -> Option<BlockType> {
        let Held { name, within, layout: arrangement } = held.clone();
        let (module, _, debug) = self.debug_at(address)?;
        let kind = [within.clone(), const_first(&within), without_paths(&within)]
            .iter()
            .find_map(|within| debug.type_named(within));
        let before = if let Arrangement::Counted(_) = arrangement { Counts::LENGTH } else { 0 };
        let fitting = kind.and_then(|kind| {
            let is_array = fits(debug, kind, size.checked_sub(before)?)?;
            Some((kind, Layout::of(arrangement, is_array, debug.types().size(kind), size)?))
        });
        let unknown = match arrangement {
            Arrangement::Counted(counts) => Layout::Counted(counts),
            Arrangement::Pointers => Layout::Pointers,
            Arrangement::Plain | Arrangement::Array | Arrangement::Table => Layout::One,
        };
        let layout = fitting.map_or(unknown, |(_, layout)| layout);
        Some(BlockType { name, module, kind: fitting.map(|(kind, _)| kind), layout })
    }

    /// The type of a block by one access to it.
    fn accessed(&mut self, sample: &Sample, size: u64) -> Option<BlockType> {
        let address = sample.pc.saturating_sub(1);
        let frame = self.frames(address).iter().find(|frame| frame.is_users()).cloned()?;
        let text = self.line_at(&frame);
        let (module, own, debug) = self.debug_at(address)?;
        let scope = debug.scope(own);
        let reached = match &text {
            Some(text) => Typing { debug, scope: scope.as_deref() }.reached(&tokens(text)),
            None => Vec::new(),
        };
        let mut found: Option<(TypeNumber, bool)> = None;
        for Reached { pointee, part } in reached {
            let Some(is_array) = fits(debug, pointee, size) else { continue };
            let types = debug.types();
            let into = if is_array { sample.offset % types.size(pointee) } else { sample.offset };
            let path = types.path(pointee, into, sample.length);
            if !path.is_exact || without_indices(&path.text) != part {
                continue;
            }
            if found.is_some_and(|(known, _)| known != pointee) {
                return None;
            }
            found = Some((pointee, is_array));
        }
        let (kind, is_array) = found?;
        named(debug, module, kind, is_array)
    }
}

fn named(debug: &DebugInfo, module: ModuleNumber, kind: TypeNumber, is_array: bool) -> Option<BlockType> {
    let name = short_name(debug.types().name(kind));
    let layout = if is_array { Layout::Array } else { Layout::One };
    (!name.is_empty()).then_some(BlockType { name, module, kind: Some(kind), layout })
}

/// The structures that pointers in scope at an address point to.
fn pointees(debug: &mut DebugInfo, address: u64) -> Vec<TypeNumber> {
    let Some(scope) = debug.scope(address) else { return Vec::new() };
    let kinds: Vec<_> = scope.locals.iter().filter_map(|local| local.kind()).collect();
    let pointees = kinds.into_iter().filter_map(|kind| {
        let kind = debug.number(kind)?;
        debug.pointee(kind).filter(|&pointee| debug.types().is_structure(pointee))
    });
    pointees.collect()
}

/// Finds accesses to the block that an event of the log allocates. The log is read from the event on.
pub(super) fn look_ahead(log: Reader<'_>, allocation: &Event<'_>) -> Vec<Sample> {
    let Op::Allocate { address, size } = allocation.op else { return Vec::new() };
    let mut samples: FxHashMap<(u64, u64), Sample> = FxHashMap::default();
    let mut found = Vec::new();
    for event in log.map_while(Result::ok).take(FARTHEST) {
        let accessed = match event.op {
            Op::Request { lock, .. } => Some((lock, None)),
            Op::Free { address: freed } if freed == address => break,
            Op::Allocate { address: other, .. } if other == address => break,
            op => op.accessed().map(|(at, length)| (at, Some(length))),
        };
        let Some((at, length)) = accessed else { continue };
        let Some(offset) = at.checked_sub(address).filter(|&offset| offset < size) else { continue };
        let sample = Sample { pc: event.pc, offset, length };
        if samples.insert((event.pc, offset), sample).is_none() {
            found.push(sample);
            if found.len() == MOST_SAMPLES {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_rust_end_with_a_byte_for_each_element() {
        // Four entries of 40 bytes, four bytes, and a group of 16.
        let table = |own, size| Layout::of(Arrangement::Table, false, own, size);
        assert_eq!(table(40, 4 * 40 + 4 + 16), Some(Layout::Table { control: 160 }));
        // They begin at a multiple of 16.
        assert_eq!(table(12, 16 + 1 + 16), Some(Layout::Table { control: 16 }));
        assert_eq!(table(40, 4 * 40 + 4 + 17), None);
        assert_eq!(table(u64::MAX / 2, u64::MAX), None);
    }
}
