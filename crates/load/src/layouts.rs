//! The layout of the global variables of a module, from its debug information, so that `forks[1].owner` has
//! its name from the source and not an offset in bytes from `forks`.
//!
//! Types that users do not know (locks of the C library, classes of the C++ library) are not expanded. Unions
//! are ambiguous, and the fields of Rust's types are named for the compiler. Offsets in them are in bytes.

use std::borrow::Cow;
use std::fs;

use addr2line::gimli::{
    self, AttributeValue, DwarfSections, EndianSlice, LittleEndian, Operation, UnitOffset,
};
use object::{Object, ObjectSection, ReadCache};
use rustc_hash::FxHashMap;

type Bytes<'d> = EndianSlice<'d, LittleEndian>;
type Entry<'d> = gimli::DebuggingInformationEntry<Bytes<'d>>;

/// Debug information of more bytes is not read for this.
const MOST_BYTES: u64 = 256 << 20;
/// Types within types that are looked into.
const DEEPEST: usize = 32;

/// The type of something, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypeNumber(u32);

#[derive(Clone, Debug)]
struct Type {
    size: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Nothing within it has a name.
    Whole,
    /// By offset. A base class has no name of its own.
    Members(Vec<(u64, Option<String>, TypeNumber)>),
    Elements(TypeNumber),
}

/// The global variables of a module.
#[derive(Clone, Debug, Default)]
pub(super) struct Layouts {
    /// In the order of their addresses, which are the file's own.
    variables: Vec<(u64, TypeNumber)>,
    types: Vec<Type>,
}

impl Layouts {
    /// Those of a program or library. What cannot be read is left out.
    pub(super) fn read(path: &str) -> Layouts {
        let mut layouts = Layouts::default();
        if layouts.read_file(path).is_none() {
            layouts.variables.clear();
        }
        layouts.variables.sort_by_key(|&(address, _)| address);
        layouts
    }

    /// What lies so far into the variable that starts at an address, as it is written behind the variable's name. `None`: nothing is known
    /// that fits. Of a `length` that is not known (of a lock, say) the whole of what is there is meant.
    pub(super) fn part(&self, address: u64, mut offset: u64, length: Option<u64>) -> Option<String> {
        let index = self.variables.binary_search_by_key(&address, |&(address, _)| address).ok()?;
        let mut kind = self.variables[index].1;
        let mut said = String::new();
        loop {
            let Type { size, shape } = &self.types[kind.0 as usize];
            if offset == 0 && length == Some(*size) && !self.is_but_a_wrapper(*size, shape) {
                return Some(said);
            }
            match shape {
                Shape::Whole => return (offset == 0 && length.is_none()).then_some(said),
                Shape::Elements(element) => {
                    let stride = self.types[element.0 as usize].size;
                    said.push_str(&format!("[{}]", offset.checked_div(stride)?));
                    (offset, kind) = (offset % stride, *element);
                }
                Shape::Members(members) => {
                    let within = |&&(start, _, member): &&(u64, Option<String>, TypeNumber)| {
                        offset
                            .checked_sub(start)
                            .is_some_and(|into| into < self.types[member.0 as usize].size)
                    };
                    let (start, name, member) = members.iter().find(within)?;
                    if let Some(name) = name {
                        said.push('.');
                        said.push_str(name);
                    }
                    (offset, kind) = (offset - start, *member);
                }
            }
        }
    }

    /// Whether something within it is as large as it.
    fn is_but_a_wrapper(&self, size: u64, shape: &Shape) -> bool {
        let fills = |within: &TypeNumber| self.types[within.0 as usize].size == size;
        match shape {
            Shape::Whole => false,
            Shape::Members(members) => members.iter().any(|(_, _, member)| fills(member)),
            Shape::Elements(element) => fills(element),
        }
    }

    fn read_file(&mut self, path: &str) -> Option<()> {
        let bytes = ReadCache::new(fs::File::open(path).ok()?);
        let file = object::File::parse(&bytes).ok()?;
        let information = file.section_by_name(".debug_info")?;
        if !file.is_little_endian() || information.size() > MOST_BYTES {
            return None;
        }
        let section = |id: gimli::SectionId| {
            let data = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
            Ok::<_, gimli::Error>(data.unwrap_or(Cow::Borrowed(&[])))
        };
        let sections = DwarfSections::load(section).ok()?;
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            Unit { dwarf: &dwarf, unit: &unit, numbers: FxHashMap::default(), layouts: self }.read();
        }
        Some(())
    }

    fn add(&mut self, size: u64, shape: Shape) -> TypeNumber {
        self.types.push(Type { size, shape });
        TypeNumber(self.types.len() as u32 - 1)
    }
}

/// One compilation unit being read.
struct Unit<'u, 'd> {
    dwarf: &'u gimli::Dwarf<Bytes<'d>>,
    unit: &'u gimli::Unit<Bytes<'d>>,
    numbers: FxHashMap<UnitOffset, TypeNumber>,
    layouts: &'u mut Layouts,
}

impl Unit<'_, '_> {
    fn read(&mut self) -> Option<()> {
        let mut entries = self.unit.entries();
        let language = entries.next_dfs().ok()??.attr_value(gimli::DW_AT_language);
        if matches!(language, Some(AttributeValue::Language(language)) if language == gimli::DW_LANG_Rust) {
            return None;
        }
        while let Some(entry) = entries.next_dfs().ok()? {
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let Some(address) = self.address(entry) else { continue };
            let kind = reference(entry, gimli::DW_AT_type).or_else(|| {
                let declared = self.unit.entry(reference(entry, gimli::DW_AT_specification)?).ok()?;
                reference(&declared, gimli::DW_AT_type)
            });
            if let Some(kind) = kind.and_then(|kind| self.number(kind, 0)) {
                self.layouts.variables.push((address, kind));
            }
        }
        Some(())
    }

    /// Where a variable is, if it is at one place of the file.
    fn address(&self, entry: &Entry<'_>) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
            return None;
        };
        let mut operations = expression.operations(self.unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        // More would be said of one that every thread has its own of.
        operations.next().ok()?.is_none().then_some(address)
    }

    /// The type at an offset of this unit.
    fn number(&mut self, offset: UnitOffset, depth: usize) -> Option<TypeNumber> {
        if let Some(&number) = self.numbers.get(&offset) {
            return Some(number);
        }
        if depth == DEEPEST {
            return None;
        }
        let entry = self.unit.entry(offset).ok()?;
        let number = match entry.tag() {
            gimli::DW_TAG_typedef if is_of_a_library(&self.name(&entry)?) => {
                let size = self.number(reference(&entry, gimli::DW_AT_type)?, depth + 1)?;
                let size = self.layouts.types[size.0 as usize].size;
                self.layouts.add(size, Shape::Whole)
            }
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => self.number(reference(&entry, gimli::DW_AT_type)?, depth + 1)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let size = size(&entry)?;
                let members = self.members(offset, depth)?;
                let is_whole = members.iter().flat_map(|(_, name, _)| name).any(|name| is_of_a_library(name));
                self.layouts.add(size, if is_whole { Shape::Whole } else { Shape::Members(members) })
            }
            gimli::DW_TAG_array_type => {
                let element = self.number(reference(&entry, gimli::DW_AT_type)?, depth + 1)?;
                self.array(offset, element)?
            }
            // Pointers are not always said to have a size.
            _ => self.layouts.add(size(&entry).unwrap_or(8), Shape::Whole),
        };
        self.numbers.insert(offset, number);
        Some(number)
    }

    fn members(&mut self, of: UnitOffset, depth: usize) -> Option<Vec<(u64, Option<String>, TypeNumber)>> {
        let mut found = Vec::new();
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
                continue;
            }
            let bits = || Some(number(entry, gimli::DW_AT_data_bit_offset)? / 8);
            // A static member is somewhere else, and in a union all start at 0.
            let Some(start) = number(entry, gimli::DW_AT_data_member_location).or_else(bits) else {
                continue;
            };
            let name = self.name(entry);
            let Some(kind) = self.number(reference(entry, gimli::DW_AT_type)?, depth + 1) else { continue };
            found.push((start, name, kind));
        }
        Some(found)
    }

    /// An array, dimension by dimension: the last one is the innermost.
    fn array(&mut self, of: UnitOffset, mut element: TypeNumber) -> Option<TypeNumber> {
        let mut counts = Vec::new();
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == gimli::DW_TAG_subrange_type {
                let last = || number(child.entry(), gimli::DW_AT_upper_bound)?.checked_add(1);
                counts.push(number(child.entry(), gimli::DW_AT_count).or_else(last)?);
            }
        }
        for count in counts.into_iter().rev() {
            let size = self.layouts.types[element.0 as usize].size.checked_mul(count)?;
            element = self.layouts.add(size, Shape::Elements(element));
        }
        Some(element)
    }

    fn name(&self, entry: &Entry<'_>) -> Option<String> {
        let name = self.dwarf.attr_string(self.unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }
}

fn reference(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(attribute)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn number(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

fn size(entry: &Entry<'_>) -> Option<u64> {
    number(entry, gimli::DW_AT_byte_size)
}

/// Whether it is a name that a library gives its own: the C library to its locks, the C++ library to all that is within its classes.
fn is_of_a_library(name: &str) -> bool {
    let of_c = ["pthread_", "sem_t", "mtx_t", "cnd_t", "once_flag"];
    name.starts_with("__") || name.starts_with("_M_") || of_c.iter().any(|known| name.starts_with(known))
}
