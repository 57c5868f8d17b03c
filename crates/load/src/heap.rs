//! What a block from the allocator holds: its type, from the statement that allocates it, or from the declared types of what accesses it.
//!
//! A type is believed only if its size fits the block, and for an access also the offset and the size of the member.

use rustc_hash::FxHashMap;
use wire::{Event, Op, Reader};

use super::debug::{DebugInfo, TypeNumber};
use super::modules::{Frame, ModuleNumber, Modules};
use super::source::{Token, tokens};
use super::typing::{Reached, Typing, without_indices};

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockType {
    /// As the source has it.
    name: String,
    module: ModuleNumber,
    /// None: it is known by name only.
    kind: Option<TypeNumber>,
    /// Where in the block it starts: reference counts may come before it.
    start: u64,
    /// Whether the block is an array of it.
    is_array: bool,
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
/// A block that is so many times larger than what a caller gets from it is a pool.
const SMALL: u64 = 64;
/// Accesses that are looked at to find the type of a block.
const MOST_SAMPLES: usize = 16;
/// Events that are passed over to find them.
const FARTHEST: usize = 100_000;

impl Site {
    /// What is known of an allocation of so many bytes whose call returns to the first of these addresses, and those of its callers. The
    /// location is the one to use if no better is found.
    pub(super) fn find(modules: &mut Modules, calls: &[u64], size: u64, location: &str) -> Site {
        let mut by_name = None;
        let mut callers = 0;
        for &call in calls {
            let address = call.saturating_sub(1);
            for frame in modules.frames(address).to_vec() {
                by_name = by_name.or_else(|| frame.function.as_deref().and_then(held_by_library));
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
        format!("{holds} ({})", self.location)
    }
}

impl BlockType {
    /// Whether it is one thing that takes a small part of so many bytes.
    fn is_small(&self, modules: &mut Modules, size: u64) -> bool {
        let Some((kind, debug)) = self.kind.zip(modules.debug_of(self.module)) else { return false };
        let own = debug.types().size(kind);
        !self.is_array && own > 0 && size / own > SMALL
    }

    /// What lies so far into the block, as it is written behind the block's name.
    pub(super) fn part(&self, modules: &mut Modules, offset: u64, length: Option<u64>) -> String {
        let Some(into) = offset.checked_sub(self.start) else { return format!("+{offset}") };
        let Some(kind) = self.kind else {
            return if into == 0 && length.is_none() { String::new() } else { format!("+{offset}") };
        };
        let Some(debug) = modules.debug_of(self.module) else { return format!("+{offset}") };
        let types = debug.types();
        let size = types.size(kind);
        if self.is_array && size > 0 {
            let path = types.path(kind, into % size, length);
            return format!("[{}]{}", into / size, path.text);
        }
        let text = types.path(kind, into, length).text;
        match text.strip_prefix('.') {
            Some(member) => format!("->{member}"),
            None => text,
        }
    }
}

/// A type that a function of a library allocates, by the function's name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// How people call the block.
    name: String,
    /// The type in it.
    within: String,
    start: u64,
}

/// What a function of the C++ or Rust library allocates: `std::__new_allocator<Node>::allocate`, `Arc<Account>::new`.
fn held_by_library(function: &str) -> Option<Held> {
    let argument = |before: &str| {
        let start = function.find(before)? + before.len();
        Some(first_argument(&function[start..]))
    };
    if let Some(element) = argument("new_allocator<") {
        if let Some(shared) = element.strip_prefix("std::_Sp_counted_ptr_inplace<") {
            let within = first_argument(shared).to_owned();
            return Some(Held { name: format!("shared {}", without_paths(&within)), within, start: 16 });
        }
        return Some(Held { name: without_paths(element), within: element.to_owned(), start: 0 });
    }
    let is_new = function.ends_with("::new") || function.contains("::new::<");
    let of = |owner: &str, within: &str, start| {
        let name = format!("{owner}<{}>", without_paths(within));
        Held { name, within: within.to_owned(), start }
    };
    // What is counted lies behind its two counts, in a box.
    let counted =
        [("alloc::sync::ArcInner<", "Arc"), ("alloc::rc::RcInner<", "Rc"), ("alloc::rc::RcBox<", "Rc")];
    let within = argument("alloc::boxed::Box<").filter(|within| is_new && *within != "T")?;
    let inner = counted.iter().find_map(|(inner, owner)| Some((within.strip_prefix(inner)?, owner)));
    Some(match inner {
        Some((inner, owner)) => of(owner, first_argument(inner), 16),
        None => of("Box", within, 0),
    })
}

/// The first of the arguments in `<..>`, of which the opening sign is gone.
fn first_argument(text: &str) -> &str {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ',' if depth == 0 => return text[..at].trim(),
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// A type without the modules and namespaces of what it is made of.
fn without_paths(kind: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(kind.len());
    let mut rest = kind;
    while let Some(first) = rest.chars().next() {
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (part, after) = rest.split_at(end);
        rest = match after.strip_prefix("::").filter(|_| is_word(first)) {
            Some(after) => after,
            None => {
                text.push_str(part);
                after
            }
        };
    }
    text
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
        let Held { name, within, start } = held.clone();
        let (module, _, debug) = self.debug_at(address)?;
        let kind = debug.type_named(&within).or_else(|| debug.type_named(&without_paths(&within)));
        let kind = kind.and_then(|kind| Some((kind, fits(debug, kind, size.checked_sub(start)?)?)));
        let is_array = kind.is_some_and(|(_, is_array)| is_array && start == 0);
        Some(BlockType { name, module, kind: kind.map(|(kind, _)| kind), start, is_array })
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
    let name = debug.types().name(kind).to_owned();
    (!name.is_empty()).then_some(BlockType { name, module, kind: Some(kind), start: 0, is_array })
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
        let (at, length) = match event.op {
            Op::Read { address, size }
            | Op::Write { address, size }
            | Op::ReadWrite { address, size }
            | Op::AtomicRead { address, size }
            | Op::AtomicWrite { address, size }
            | Op::AtomicUpdate { address, size } => (address, Some(u64::from(size))),
            Op::Request { lock, .. } => (lock, None),
            Op::Free { address: freed } if freed == address => break,
            Op::Allocate { address: other, .. } if other == address => break,
            _ => continue,
        };
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
    fn library_functions_name_what_they_allocate() {
        let held = |function| held_by_library(function).map(|held| (held.name, held.within, held.start));
        let of = |name: &str, within: &str, start| Some((name.to_owned(), within.to_owned(), start));
        assert_eq!(
            held("std::__new_allocator<bank::Node<int, char> >::allocate(unsigned long, void const*)"),
            of("Node<int, char>", "bank::Node<int, char>", 0)
        );
        assert_eq!(
            held(
                "__gnu_cxx::new_allocator<std::_Sp_counted_ptr_inplace<Job, std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long)"
            ),
            of("shared Job", "Job", 16)
        );
        assert_eq!(
            held("<alloc::boxed::Box<alloc::sync::ArcInner<std::sync::poison::mutex::Mutex<i32>>>>::new"),
            of("Arc<Mutex<i32>>", "std::sync::poison::mutex::Mutex<i32>", 16)
        );
        assert_eq!(held("<alloc::boxed::Box<bank::Account>>::new"), of("Box<Account>", "bank::Account", 0));
        assert_eq!(held("alloc::boxed::Box<T>::new"), None);
        assert_eq!(held("<alloc::boxed::Box<u32> as core::clone::Clone>::clone"), None);
        assert_eq!(held("main"), None);
    }
}
