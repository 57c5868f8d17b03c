//! What lies in a pool: a large block whose user hands out parts of it. The block is of bytes, or of no known type, but the line of an access says what its
//! part is used as: `it->refcount`.
//!
//! Only what the line leaves no doubt about is believed: one member that it reaches through a pointer, and that is as long as the access.

use super::debug::TypeNumber;
use super::heap::SMALL;
use super::modules::{Frame, Modules};
use super::source::tokens;
use super::typing::{Reached, Typing};

/// The largest structure that is looked into.
const LARGEST: u64 = 4096;
/// What lies in a pool starts at a multiple of this.
const ALIGNMENT: u64 = 4;

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
    /// What lies so far into a block of this name and size, by the line that an access to it is on.
    pub(super) fn in_pool(
        &mut self,
        name: &str,
        size: u64,
        offset: u64,
        length: Option<u64>,
        pc: u64,
    ) -> Option<String> {
        let member = match self.reached_members.get(&(pc, length)) {
            Some(known) => known.clone(),
            None => {
                let member = self.reached_member(pc, length?);
                self.reached_members.insert((pc, length), member.clone());
                member
            }
        }?;
        let start = offset.checked_sub(member.start).filter(|start| start.is_multiple_of(ALIGNMENT))?;
        let is_part = size / member.length > SMALL && start + member.length <= size;
        let (_, allocated) = is_part.then(|| name.split_once(" ("))??;
        Some(format!("{} ({allocated}[+{start}]->{}", member.structure, member.part.trim_start_matches('.')))
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
