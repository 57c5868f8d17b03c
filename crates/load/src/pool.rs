//! What lies in a pool: a large block whose user hands out parts of it. The block is of bytes, or of no known type, but the line of an access says what its
//! part is used as: `it->refcount`.
//!
//! Only what the line leaves no doubt about is believed: one member that it reaches through a pointer, and that is as long as the access. The line of
//! the first access may say nothing, as when all of the pool is cleared, so that later ones are asked, too. A line can also mean another member than
//! it names (`set_cas(it, c->cas)` writes that of `it`). So each part of the pool that is used as a member of a structure is a vote for the structure
//! to be there, and of structures that overlap only the one with the most votes is believed.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use wire::{Event, Op, Reader};

use super::debug::TypeNumber;
use super::heap::SMALL;
use super::modules::{Frame, Modules};
use super::source::tokens;
use super::typing::{Reached, Typing};

/// The largest structure that is looked into.
const LARGEST: u64 = 4096;
/// What lies in a pool starts at a multiple of this.
const ALIGNMENT: u64 = 4;

/// A block of at least this number of bytes may be a pool.
pub(super) const SMALLEST: u64 = 1 << 14;
/// Events that are passed over to find accesses to a pool.
const FARTHEST: usize = 1 << 18;
/// Parts of a pool whose accesses are looked at, and how many of each.
const MOST_PARTS: usize = 1 << 16;
const MOST_OF_A_PART: usize = 4;

/// Accesses to the parts of a pool.
#[derive(Debug, Default)]
pub(super) struct PoolAccesses {
    /// Where the code continues after each, by the part's offset and length.
    by_part: FxHashMap<(u64, u64), Vec<u64>>,
    /// How many parts speak for each structure. None: it was not needed yet.
    votes: Option<BTreeMap<Used, usize>>,
}

/// A structure that a pool has at some place, by the line of an access.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Used {
    start: u64,
    end: u64,
    structure: String,
}

impl PoolAccesses {
    /// Those that the log has to the block that an event allocates. It is read from the event on.
    pub(super) fn look_ahead(log: Reader<'_>, allocation: &Event<'_>) -> PoolAccesses {
        let mut accesses = PoolAccesses::default();
        let Op::Allocate { address, size } = allocation.op else { return accesses };
        for event in log.map_while(Result::ok).take(FARTHEST) {
            match event.op {
                Op::Free { address: freed } if freed == address => break,
                Op::Allocate { address: other, .. } if other == address && event != *allocation => break,
                _ => {}
            }
            let Some((at, length)) = event.op.accessed() else { continue };
            let Some(offset) = at.checked_sub(address).filter(|&offset| offset < size) else { continue };
            accesses.note(offset, length, event.pc);
        }
        accesses
    }

    fn note(&mut self, offset: u64, length: u64, pc: u64) {
        let is_full = self.by_part.len() == MOST_PARTS;
        let known = match is_full {
            true => self.by_part.get_mut(&(offset, length)),
            false => Some(self.by_part.entry((offset, length)).or_default()),
        };
        if let Some(known) = known.filter(|known| known.len() < MOST_OF_A_PART && !known.contains(&pc)) {
            known.push(pc);
        }
    }

    /// Whether more parts speak for a structure than for any other that overlaps it.
    fn believes(&self, used: &Used) -> bool {
        let Some(votes) = &self.votes else { return true };
        let own = votes.get(used).copied().unwrap_or(1);
        let near = Used { start: used.start.saturating_sub(LARGEST), end: 0, structure: String::new() };
        let others = votes.range(near..).take_while(|(other, _)| other.start < used.end);
        others.filter(|(other, _)| *other != used && other.end > used.start).all(|(_, &votes)| votes < own)
    }

    /// Those to one part.
    fn of(&self, offset: u64, length: Option<u64>) -> &[u64] {
        length.and_then(|length| self.by_part.get(&(offset, length))).map_or(&[], Vec::as_slice)
    }
}

/// A part of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolPart<'n> {
    /// The name and the size of the block.
    pub(super) name: &'n str,
    pub(super) size: u64,
    /// Where the part lies in it, and how long it is.
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
}

/// A member of a structure that a line reaches through a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReachedMember {
    /// The name of the structure, and how long it is.
    structure: String,
    length: u64,
    /// The member, and where in the structure it lies.
    part: String,
    start: u64,
}

impl Modules {
    /// What a part of a block is, by the lines of its first access and of later ones.
    pub(super) fn in_pool(
        &mut self,
        part: PoolPart<'_>,
        first_pc: u64,
        mut later: Option<&mut PoolAccesses>,
    ) -> Option<String> {
        if let Some(later) = later.as_deref_mut().filter(|later| later.votes.is_none()) {
            later.votes = Some(self.votes(part, later));
        }
        let further = later.as_deref().map_or(&[][..], |later| later.of(part.offset, part.length));
        let lines = std::iter::once(&first_pc).chain(further);
        let used: BTreeMap<Used, String> = lines.filter_map(|&pc| self.used_by_line(part, pc)).collect();
        let mut believed =
            used.into_iter().filter(|(used, _)| later.as_deref().is_none_or(|later| later.believes(used)));
        let (Used { start, structure, .. }, member) = believed.next()?;
        let (_, allocated) = part.name.split_once(" (")?;
        Some(format!("{structure} ({allocated}[+{start}]->{}", member.trim_start_matches('.')))
    }

    /// How many parts of a block speak for each structure.
    fn votes(&mut self, block: PoolPart<'_>, accesses: &PoolAccesses) -> BTreeMap<Used, usize> {
        let mut votes = BTreeMap::new();
        for (&(offset, length), lines) in &accesses.by_part {
            let part = PoolPart { offset, length: Some(length), ..block };
            let used: BTreeSet<Used> =
                lines.iter().filter_map(|&pc| Some(self.used_by_line(part, pc)?.0)).collect();
            used.into_iter().for_each(|used| *votes.entry(used).or_default() += 1);
        }
        votes
    }

    /// The structure that a part belongs to, and the member that it is, by the line that an access to it is on.
    fn used_by_line(&mut self, part: PoolPart<'_>, pc: u64) -> Option<(Used, String)> {
        let PoolPart { size, offset, length, .. } = part;
        let member = match self.reached_members.get(&(pc, length)) {
            Some(known) => known.clone(),
            None => {
                let member = self.reached_member(pc, length?);
                self.reached_members.insert((pc, length), member.clone());
                member
            }
        }?;
        let start = offset.checked_sub(member.start).filter(|start| start.is_multiple_of(ALIGNMENT))?;
        let end = start + member.length;
        let is_part = size / member.length > SMALL && end <= size;
        is_part.then_some((Used { start, end, structure: member.structure }, member.part))
    }

    /// The only member that the line of an access, with this number of bytes, can mean.
    fn reached_member(&mut self, pc: u64, length: u64) -> Option<ReachedMember> {
        let address = pc.saturating_sub(1);
        let frame = self.frames(address).iter().find(|frame: &&Frame| frame.is_users()).cloned()?;
        let text = self.line_at(&frame)?;
        let (_, own, debug) = self.debug_at(address)?;
        let scope = debug.scope(own);
        let reached = Typing { debug, scope: scope.as_deref() }.reached(&tokens(&text));
        let types = debug.types();
        let mut found: Option<(TypeNumber, u64, String)> = None;
        for Reached { pointee, part } in reached {
            let size = types.size(pointee);
            if part.is_empty() {
                // The line also means all of what a pointer points to.
                if size == length {
                    return None;
                }
                continue;
            }
            let mut places = (0..size.min(LARGEST)).filter(|&into| {
                let path = types.path(pointee, into, Some(length));
                path.is_exact && path.text == part
            });
            let Some(into) = places.next() else { continue };
            let member = (pointee, into, part);
            if found.as_ref().is_some_and(|known| *known != member) {
                return None;
            }
            found = Some(member);
        }
        let (pointee, start, part) = found?;
        let structure = types.name(pointee).to_owned();
        (!structure.is_empty()).then(|| ReachedMember { structure, length: types.size(pointee), part, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(start: u64, end: u64, structure: &str) -> Used {
        Used { start, end, structure: structure.to_owned() }
    }

    #[test]
    fn of_structures_that_overlap_the_one_with_more_parts_is_believed() {
        let (item, conn, other) = (used(96, 144, "item"), used(8, 500, "conn"), used(600, 640, "item"));
        let votes = [(item.clone(), 3), (conn.clone(), 1), (other.clone(), 1)];
        let accesses = PoolAccesses { votes: Some(votes.into()), ..PoolAccesses::default() };
        assert!(accesses.believes(&item) && accesses.believes(&other));
        assert!(!accesses.believes(&conn));
        assert!(!accesses.believes(&used(120, 160, "chunk")), "nothing but this line speaks for it");
        assert!(accesses.believes(&used(500, 600, "chunk")), "nothing is known there");
        let even = PoolAccesses {
            votes: Some([(used(0, 8, "one"), 2), (used(4, 12, "two"), 2)].into()),
            ..PoolAccesses::default()
        };
        assert!(!even.believes(&used(0, 8, "one")) && !even.believes(&used(4, 12, "two")));
    }
}
