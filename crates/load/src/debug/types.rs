//! Types: what lies at which offset of something, so that `forks[1].owner` has its name from the source and not an offset in bytes.
//!
//! Types that users do not know are not expanded if they are of the C library (its locks): offsets in them are in bytes. Those of the C++
//! library and of Rust's are, but where one only wraps another, the wrapper's name for it is left out: an element of a `std::array` is
//! `pairs[1].first`, the data of a `Mutex` is `account.data.balance`.

use addr2line::gimli::{self, UnitOffset};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Dwarf, Entry, TypeEntry, Unit, name, reference};

/// Types within types that are looked into.
const DEEPEST: usize = 32;

/// The type of something, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeNumber(u32);

#[derive(Clone, Debug)]
struct Type {
    /// As the source has it; empty: it has no name.
    name: String,
    size: u64,
    shape: Shape,
    /// Whether it is of the C++ library or of Rust's.
    is_of_library: bool,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Nothing within it has a name.
    Whole,
    /// It is defined elsewhere, if at all.
    Declared,
    /// By offset.
    Members(Vec<Member>),
    /// All at the same offset.
    Alternatives(Vec<Member>),
    Elements(TypeNumber),
    /// None: to nothing that has a type.
    Pointer(Option<TypeEntry>),
}

#[derive(Clone, Debug)]
struct Member {
    start: u64,
    /// A base class has no name of its own.
    name: Option<String>,
    kind: TypeNumber,
}

/// A part of something, as it is written behind the name of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// `[1].owner`, and `+8` for bytes that have no name.
    pub(crate) text: String,
    /// Whether the part is something that has a name or an index.
    pub(crate) is_exact: bool,
}

/// The types that were read.
#[derive(Debug, Default)]
pub(crate) struct Types {
    types: Vec<Type>,
    numbers: FxHashMap<TypeEntry, TypeNumber>,
    /// What smart pointers hold.
    held: FxHashMap<TypeNumber, TypeEntry>,
}

impl Types {
    fn get(&self, number: TypeNumber) -> &Type {
        &self.types[number.0 as usize]
    }

    pub(super) fn number_of(&self, kind: TypeEntry) -> Option<TypeNumber> {
        self.numbers.get(&kind).copied()
    }

    pub(super) fn learn(&mut self, kind: TypeEntry, number: TypeNumber) {
        self.numbers.insert(kind, number);
    }

    /// The name of a type that is declared and not defined where it was read.
    pub(super) fn declared_name(&self, number: TypeNumber) -> Option<String> {
        let kind = self.get(number);
        matches!(kind.shape, Shape::Declared).then(|| kind.name.clone())
    }

    pub(super) fn pointee(&self, pointer: TypeNumber) -> Option<TypeEntry> {
        match self.get(pointer).shape {
            Shape::Pointer(pointee) => pointee,
            _ => self.held.get(&pointer).copied(),
        }
    }

    /// The bytes that something of a type takes; 0: unknown.
    pub(crate) fn size(&self, number: TypeNumber) -> u64 {
        self.get(number).size
    }

    /// The name of a type; empty: it has none.
    pub(crate) fn name(&self, number: TypeNumber) -> &str {
        &self.get(number).name
    }

    /// Whether it has members.
    pub(crate) fn is_structure(&self, number: TypeNumber) -> bool {
        matches!(self.get(number).shape, Shape::Members(_) | Shape::Alternatives(_))
    }

    /// The type of an array's elements.
    pub(crate) fn element(&self, number: TypeNumber) -> Option<TypeNumber> {
        match self.get(number).shape {
            Shape::Elements(element) => Some(element),
            _ => None,
        }
    }

    /// The type of a member, also of one that a base class or a member without name has.
    pub(crate) fn member(&self, number: TypeNumber, name: &str) -> Option<TypeNumber> {
        self.member_within(number, name, 0)
    }

    fn member_within(&self, number: TypeNumber, name: &str, depth: usize) -> Option<TypeNumber> {
        let (Shape::Members(members) | Shape::Alternatives(members)) = &self.get(number).shape else {
            return None;
        };
        if depth == DEEPEST {
            return None;
        }
        let own = members.iter().find(|member| member.name.as_deref() == Some(name));
        own.map(|member| member.kind).or_else(|| {
            let mut nameless = members.iter().filter(|member| member.name.is_none());
            nameless.find_map(|member| self.member_within(member.kind, name, depth + 1))
        })
    }

    /// What lies so far into something of a type. Of a `length` that is not known (of a lock, say) the whole of what is there is meant.
    pub(crate) fn path(&self, kind: TypeNumber, offset: u64, length: Option<u64>) -> Path {
        self.path_from(kind, offset, length, String::new(), 0)
    }

    fn path_from(
        &self,
        mut kind: TypeNumber,
        mut offset: u64,
        length: Option<u64>,
        mut text: String,
        mut depth: usize,
    ) -> Path {
        // Where the type of a library begins that all is within: what a lock has in it is not said.
        let mut outside = None;
        loop {
            let Type { size, shape, is_of_library, .. } = self.get(kind);
            match is_of_library {
                true => outside = outside.or(Some(text.len())),
                false if self.is_structure(kind) => outside = None,
                false => {}
            }
            if length.is_none()
                && let Some(outside) = outside
                && self.is_innermost(kind, offset)
            {
                text.truncate(outside);
                return Path { text, is_exact: true };
            }
            if offset == 0 && length == Some(*size) && !self.is_wrapper(*size, shape) {
                return Path { text, is_exact: true };
            }
            depth += 1;
            let next = match shape {
                _ if depth > 2 * DEEPEST => None,
                Shape::Whole | Shape::Declared | Shape::Pointer(_) => None,
                Shape::Elements(element) => {
                    let stride = self.get(*element).size;
                    offset.checked_div(stride).map(|index| {
                        text.push_str(&format!("[{index}]"));
                        (offset % stride, *element)
                    })
                }
                Shape::Members(members) => {
                    let within = |member: &&Member| {
                        let size = self.get(member.kind).size;
                        // An array at the end may have no length of its own.
                        let open = size == 0 && self.element(member.kind).is_some();
                        let into = offset.checked_sub(member.start);
                        into.is_some_and(|into| open || into < size) && !self.is_empty(member.kind, 0)
                    };
                    members.iter().find(within).map(|member| {
                        if let Some(name) = &member.name {
                            text.push('.');
                            text.push_str(name);
                        }
                        (offset - member.start, member.kind)
                    })
                }
                Shape::Alternatives(members) => {
                    let paths = members.iter().map(|member| {
                        let name = member.name.as_ref().map(|name| format!("{text}.{name}"));
                        self.path_from(
                            member.kind,
                            offset,
                            length,
                            name.unwrap_or_else(|| text.clone()),
                            depth,
                        )
                    });
                    let mut exact = paths.filter(|path| path.is_exact);
                    match (exact.next(), exact.next()) {
                        (Some(only), None) => return only,
                        _ => None,
                    }
                }
            };
            match next {
                Some(next) => (offset, kind) = next,
                None if offset == 0 && length.is_none() => return Path { text, is_exact: true },
                None if offset == 0 => return Path { text, is_exact: false },
                None => return Path { text: format!("{text}+{offset}"), is_exact: false },
            }
        }
    }

    /// Whether nothing at an offset of it is of a type with members that is no library's.
    fn is_innermost(&self, kind: TypeNumber, offset: u64) -> bool {
        let (mut kind, mut offset) = (kind, offset);
        for _ in 0..DEEPEST {
            let Type { shape, is_of_library, .. } = self.get(kind);
            if !is_of_library && self.is_structure(kind) {
                return false;
            }
            let Shape::Members(members) = shape else { return true };
            let within = |member: &&Member| {
                let into = offset.checked_sub(member.start);
                into.is_some_and(|into| into < self.get(member.kind).size) && !self.is_empty(member.kind, 0)
            };
            let Some(member) = members.iter().find(within) else { return true };
            (kind, offset) = (member.kind, offset - member.start);
        }
        true
    }

    /// Whether something of a type holds nothing: an allocator, say, or a marker.
    fn is_empty(&self, kind: TypeNumber, depth: usize) -> bool {
        let Type { size, shape, .. } = self.get(kind);
        let holds_nothing = |member: &Member| depth < DEEPEST && self.is_empty(member.kind, depth + 1);
        match shape {
            _ if *size == 0 => !matches!(shape, Shape::Elements(_)),
            Shape::Members(members) => *size == 1 && members.iter().all(holds_nothing),
            _ => false,
        }
    }

    /// Whether something within it is as large as it.
    fn is_wrapper(&self, size: u64, shape: &Shape) -> bool {
        let fills = |within: TypeNumber| self.get(within).size == size;
        match shape {
            Shape::Whole | Shape::Declared | Shape::Pointer(_) => false,
            Shape::Members(members) => members.iter().any(|member| fills(member.kind)),
            Shape::Alternatives(_) => false,
            Shape::Elements(element) => fills(*element),
        }
    }

    fn add(&mut self, name: String, size: u64, shape: Shape) -> TypeNumber {
        self.push(Type { name, size, shape, is_of_library: false })
    }

    fn push(&mut self, kind: Type) -> TypeNumber {
        self.types.push(kind);
        TypeNumber(self.types.len() as u32 - 1)
    }
}

/// Reads the types of one unit.
pub(super) struct Reader<'u, 'd> {
    pub(super) dwarf: &'u Dwarf<'d>,
    pub(super) unit: &'u Unit<'d>,
    pub(super) number: u32,
    pub(super) types: &'u mut Types,
    pub(super) library: &'u FxHashSet<TypeEntry>,
}

impl Reader<'_, '_> {
    /// The type at an offset of this unit.
    pub(super) fn number(&mut self, offset: UnitOffset, depth: usize) -> Option<TypeNumber> {
        let described = TypeEntry { unit: self.number, offset };
        if let Some(number) = self.types.number_of(described) {
            return Some(number);
        }
        if depth == DEEPEST {
            return None;
        }
        let entry = self.unit.entry(offset).ok()?;
        let number = match entry.tag() {
            gimli::DW_TAG_typedef => self.synonym(&entry, depth)?,
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => self.number(reference(&entry, gimli::DW_AT_type)?, depth + 1)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.structure(&entry, described, depth)?
            }
            gimli::DW_TAG_array_type => {
                let element = self.number(reference(&entry, gimli::DW_AT_type)?, depth + 1)?;
                self.array(offset, element)?
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => self.pointer(&entry, depth),
            _ => {
                let name = self.name(&entry).unwrap_or_default();
                self.types.add(name, size(&entry).unwrap_or(8), Shape::Whole)
            }
        };
        self.types.learn(described, number);
        Some(number)
    }

    /// Another name for a type: that of a type that has none, and of a library's type.
    fn synonym(&mut self, entry: &Entry<'_>, depth: usize) -> Option<TypeNumber> {
        let name = self.name(entry)?;
        let number = self.number(reference(entry, gimli::DW_AT_type)?, depth + 1)?;
        let Type { name: own, size, shape, is_of_library } = self.types.get(number).clone();
        if is_of_the_c_library(&name) {
            return Some(self.types.add(name, size, Shape::Whole));
        }
        match own.is_empty() && matches!(shape, Shape::Members(_) | Shape::Alternatives(_)) {
            true => Some(self.types.push(Type { name, size, shape, is_of_library })),
            false => Some(number),
        }
    }

    fn structure(&mut self, entry: &Entry<'_>, described: TypeEntry, depth: usize) -> Option<TypeNumber> {
        let name = self.name(entry).unwrap_or_default();
        if entry.has_attr(gimli::DW_AT_declaration) {
            return Some(self.types.add(name, 0, Shape::Declared));
        }
        let size = size(entry)?;
        let mut members = self.members(described.offset, depth)?;
        let has = |of: fn(&str) -> bool| members.iter().flat_map(|member| &member.name).any(|name| of(name));
        let is_whole = has(is_of_the_c_library);
        let is_of_library = self.library.contains(&described) || has(is_of_the_cpp_library);
        if is_of_library {
            self.leave_out_wrappers(&mut members);
        }
        // Room for something that may not be there yet.
        let is_room = ["__aligned_membuf<", "__aligned_buffer<"].iter().any(|room| name.starts_with(room));
        if is_room && let Some(held) = self.template_argument(described.offset) {
            let kind = self.number(held.offset, depth + 1)?;
            members = vec![Member { start: 0, name: None, kind }];
        }
        let shape = match entry.tag() {
            _ if is_whole => Shape::Whole,
            gimli::DW_TAG_union_type => Shape::Alternatives(members),
            _ => Shape::Members(members),
        };
        let is_smart = ["unique_ptr<", "shared_ptr<"].iter().any(|smart| name.starts_with(smart));
        let number = self.types.push(Type { name, size, shape, is_of_library });
        if is_smart && let Some(held) = self.template_argument(described.offset) {
            self.types.held.insert(number, held);
        }
        Some(number)
    }

    /// Takes the names from members that are all that a library's type has, and from those whose names say nothing.
    fn leave_out_wrappers(&self, members: &mut [Member]) {
        const WRAPPERS: [&str; 6] = ["_M_elems", "_M_impl", "_M_payload", "_M_storage", "_M_t", "_M_value"];
        let holding = members.iter().filter(|member| !self.types.is_empty(member.kind, 0)).count();
        for member in members {
            let is_all = holding == 1 && !self.types.is_empty(member.kind, 0);
            if is_all || member.name.as_deref().is_some_and(|name| WRAPPERS.contains(&name)) {
                member.name = None;
            }
        }
    }

    /// The first type that a template is instantiated with.
    fn template_argument(&mut self, of: UnitOffset) -> Option<TypeEntry> {
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == gimli::DW_TAG_template_type_parameter {
                let offset = reference(child.entry(), gimli::DW_AT_type)?;
                return Some(TypeEntry { unit: self.number, offset });
            }
        }
        None
    }

    fn pointer(&mut self, entry: &Entry<'_>, depth: usize) -> TypeNumber {
        let pointee = reference(entry, gimli::DW_AT_type);
        // What it points to is read when somebody asks: it may lead back here. Only names that are near are worth a look.
        let name = pointee.and_then(|pointee| {
            let pointee = self.unit.entry(pointee).ok()?;
            let named = matches!(
                pointee.tag(),
                gimli::DW_TAG_base_type | gimli::DW_TAG_typedef | gimli::DW_TAG_structure_type
            );
            self.name(&pointee).filter(|_| named && depth < DEEPEST)
        });
        let name = name.map(|name| format!("{name} *")).unwrap_or_default();
        let pointee = pointee.map(|offset| TypeEntry { unit: self.number, offset });
        // Pointers are not always said to have a size.
        self.types.add(name, size(entry).unwrap_or(8), Shape::Pointer(pointee))
    }

    fn members(&mut self, of: UnitOffset, depth: usize) -> Option<Vec<Member>> {
        let mut found = Vec::new();
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let is_union = tree.root().ok()?.entry().tag() == gimli::DW_TAG_union_type;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
                continue;
            }
            let bits = || Some(number(entry, gimli::DW_AT_data_bit_offset)? / 8);
            let location = number(entry, gimli::DW_AT_data_member_location).or_else(bits);
            // A static member is somewhere else, and in a union all start at 0.
            let Some(start) = location.or(is_union.then_some(0)) else { continue };
            // The fields of Rust's tuples.
            let name = self.name(entry).map(|name| match name.strip_prefix("__") {
                Some(index) if index.starts_with(|c: char| c.is_ascii_digit()) => index.to_owned(),
                _ => name,
            });
            let Some(kind) = self.number(reference(entry, gimli::DW_AT_type)?, depth + 1) else { continue };
            found.push(Member { start, name, kind });
        }
        Some(found)
    }

    /// An array, dimension by dimension: the last one is the innermost. Without a length it has the size 0.
    fn array(&mut self, of: UnitOffset, mut element: TypeNumber) -> Option<TypeNumber> {
        let mut counts = Vec::new();
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == gimli::DW_TAG_subrange_type {
                let last = || number(child.entry(), gimli::DW_AT_upper_bound)?.checked_add(1);
                counts.push(number(child.entry(), gimli::DW_AT_count).or_else(last).unwrap_or(0));
            }
        }
        for count in counts.into_iter().rev() {
            let size = self.types.get(element).size.checked_mul(count)?;
            element = self.types.add(String::new(), size, Shape::Elements(element));
        }
        Some(element)
    }

    fn name(&self, entry: &Entry<'_>) -> Option<String> {
        name(self.dwarf, self.unit, entry)
    }
}

fn number(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

fn size(entry: &Entry<'_>) -> Option<u64> {
    number(entry, gimli::DW_AT_byte_size)
}

/// Whether it is a name that the C library gives its own.
fn is_of_the_c_library(name: &str) -> bool {
    let of_c = ["pthread_", "sem_t", "mtx_t", "cnd_t", "once_flag"];
    name.starts_with("__") || of_c.iter().any(|known| name.starts_with(known))
}

/// Whether it is a name that the C++ library gives what is within its classes.
fn is_of_the_cpp_library(name: &str) -> bool {
    name.starts_with("_M_")
}
