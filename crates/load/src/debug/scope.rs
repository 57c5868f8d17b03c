//! The variables of a function that are in scope at an address of its code, and where they lie in the function's frame.

use addr2line::gimli::{self, AttributeValue, Operation, UnitOffset};

use super::{Dwarf, Entry, TypeEntry, Unit, name, reference};

/// What the offsets of variables in a frame count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameBase {
    /// So far from the value of the stack pointer before the call.
    CallFrame(i64),
    /// A register, by its number in debug information: 6 is rbp, 7 is rsp.
    Register(u16),
}

impl FrameBase {
    /// How far it is from an address that is a multiple of 16: where a function is called, the stack is aligned.
    pub(crate) fn distance(self) -> i64 {
        match self {
            FrameBase::CallFrame(distance) => distance,
            FrameBase::Register(_) => 0,
        }
    }
}

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(super) kind: Option<TypeEntry>,
    /// Its distance from the frame's base; none: it is elsewhere, or moves.
    pub(crate) offset: Option<i64>,
}

/// What is in scope at an address.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Those of inner blocks come later.
    pub(crate) locals: Vec<Local>,
    /// Those of other blocks of the function: Rust opens a block after the statement that gives a variable its first value.
    pub(crate) elsewhere: Vec<Local>,
    pub(crate) base: Option<FrameBase>,
}

impl Scope {
    /// That at an address in a function.
    pub(super) fn read(
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        number: u32,
        function: UnitOffset,
        address: u64,
    ) -> Option<Scope> {
        let mut tree = unit.entries_tree(Some(function)).ok()?;
        let root = tree.root().ok()?;
        let base = frame_base(unit, root.entry());
        let scope = Scope { locals: Vec::new(), elsewhere: Vec::new(), base };
        let mut reading = Reading { dwarf, unit, number, address, scope };
        reading.children(root, true)?;
        Some(reading.scope)
    }

    /// The innermost variable of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }
}

impl Local {
    /// Where its type is described.
    pub(crate) fn kind(&self) -> Option<TypeEntry> {
        self.kind
    }
}

struct Reading<'u, 'd> {
    dwarf: &'u Dwarf<'d>,
    unit: &'u Unit<'d>,
    number: u32,
    address: u64,
    scope: Scope,
}

impl<'d> Reading<'_, 'd> {
    fn children(
        &mut self,
        node: gimli::EntriesTreeNode<'_, '_, super::Bytes<'d>>,
        is_in_scope: bool,
    ) -> Option<()> {
        let mut children = node.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    if let Some(local) = self.local(entry) {
                        let locals =
                            if is_in_scope { &mut self.scope.locals } else { &mut self.scope.elsewhere };
                        locals.push(local);
                    }
                }
                gimli::DW_TAG_lexical_block => {
                    let is_in_scope = is_in_scope && self.covers(entry);
                    self.children(child, is_in_scope)?;
                }
                gimli::DW_TAG_inlined_subroutine if is_in_scope && self.covers(entry) => {
                    self.children(child, true)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    fn covers(&self, entry: &Entry<'d>) -> bool {
        // A block without addresses belongs to an inlined function that is there as a whole.
        let has_addresses = entry.has_attr(gimli::DW_AT_low_pc) || entry.has_attr(gimli::DW_AT_ranges);
        if !has_addresses {
            return true;
        }
        let Ok(mut ranges) = self.dwarf.die_ranges(self.unit, entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&self.address) {
                return true;
            }
        }
        false
    }

    fn local(&self, entry: &Entry<'d>) -> Option<Local> {
        let origin =
            reference(entry, gimli::DW_AT_abstract_origin).and_then(|origin| self.unit.entry(origin).ok());
        let named = |entry: &Entry<'d>| name(self.dwarf, self.unit, entry);
        let name = named(entry).or_else(|| named(origin.as_ref()?))?;
        let kind = reference(entry, gimli::DW_AT_type)
            .or_else(|| reference(origin.as_ref()?, gimli::DW_AT_type))
            .map(|offset| TypeEntry { unit: self.number, offset });
        Some(Local { name, kind, offset: frame_offset(self.unit, entry) })
    }
}

/// Where a variable lies in its frame, if it is always there.
fn frame_offset(unit: &Unit<'_>, entry: &Entry<'_>) -> Option<i64> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
    let mut operations = expression.operations(unit.encoding());
    let Operation::FrameOffset { offset } = operations.next().ok()?? else { return None };
    operations.next().ok()?.is_none().then_some(offset)
}

fn frame_base(unit: &Unit<'_>, function: &Entry<'_>) -> Option<FrameBase> {
    let AttributeValue::Exprloc(expression) = function.attr_value(gimli::DW_AT_frame_base)? else {
        return None;
    };
    let mut operations = expression.operations(unit.encoding());
    let base = operations.next().ok()??;
    let distance = match operations.next().ok()? {
        None => 0,
        Some(Operation::SignedConstant { value }) if operations.next().ok()? == Some(Operation::Plus) => {
            value
        }
        Some(_) => return None,
    };
    if operations.next().ok()?.is_some() {
        return None;
    }
    match base {
        Operation::CallFrameCFA => Some(FrameBase::CallFrame(distance)),
        Operation::Register { register } if distance == 0 => Some(FrameBase::Register(register.0)),
        _ => None,
    }
}
