//! What the debug information of a module says about memory: the types of global variables, the variables that are in scope at an address
//! of the code, and where they lie in their frame.
//!
//! All entries are passed over once, to find functions, global variables and the names of types. Types and scopes are read when
//! something is to be named. What cannot be read is left out: then memory is named by its offset.

mod code;
mod scope;
mod types;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use addr2line::gimli::{
    self, AttributeValue, DebugInfoOffset, DwarfSections, EndianSlice, LittleEndian, Operation, UnitOffset,
};
use bounds::Bounds;
use object::{Object, ObjectSection, ReadCache};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use code::Code;
pub(super) use scope::{FrameBase, Local, Scope};
pub(super) use types::TypeNumber;
use types::{Reader, Types};

type Bytes<'d> = EndianSlice<'d, LittleEndian>;
type Dwarf<'d> = gimli::Dwarf<Bytes<'d>>;
type Unit<'d> = gimli::Unit<Bytes<'d>>;
type Entry<'d> = gimli::DebuggingInformationEntry<Bytes<'d>>;

/// Debug information of more bytes is not read for this.
const MOST_BYTES: u64 = 256 << 20;

/// Where a type is described: the number of its unit, and its offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeEntry {
    unit: u32,
    offset: UnitOffset,
}

/// A function's code, and where the function is described.
#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    end: u64,
    unit: u32,
    entry: UnitOffset,
}

/// A variable that lies at one place, or at one place of each thread's own memory.
#[derive(Clone, Debug)]
struct Global {
    address: u64,
    kind: TypeEntry,
    /// Where it is described.
    entry: UnitOffset,
    /// The function that it is a variable of.
    function: Option<Rc<str>>,
}

/// How the source declares a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Declaration {
    /// Its name, and the function that it is a variable of.
    pub(super) name: Option<String>,
    pub(super) function: Option<String>,
    /// Where.
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At this address of the file.
    Address(u64),
    /// So far from the start of the module's own memory in each thread.
    OfThread(u64),
}

/// The debug information of a module. Addresses are the file's own.
#[derive(Debug, Default)]
pub(super) struct DebugInfo {
    sections: DwarfSections<Vec<u8>>,
    units: Vec<DebugInfoOffset>,
    /// In the order of their addresses.
    functions: Vec<Function>,
    /// In the order of their addresses.
    globals: Vec<Global>,
    /// Variables that each thread has its own of, in the order of their offsets among those of the module.
    thread_locals: Vec<Global>,
    globals_by_name: FxHashMap<Box<str>, TypeEntry>,
    types_by_name: FxHashMap<Box<str>, TypeEntry>,
    /// Types of Rust's library.
    library: FxHashSet<TypeEntry>,
    types: Types,
    scopes: FxHashMap<u64, Option<Rc<Scope>>>,
}

impl DebugInfo {
    /// That of a program or library; where the bounds are reached, only some of it.
    pub(super) fn read(path: &str, bounds: Bounds) -> DebugInfo {
        let mut information = DebugInfo::default();
        if let Some(sections) = read_sections(path) {
            information.sections = sections;
            information.pass_over(bounds);
        }
        information
    }

    /// The first pass over all entries.
    fn pass_over(&mut self, bounds: Bounds) {
        let sections = std::mem::take(&mut self.sections);
        let dwarf = borrowed(&sections);
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next()
            && !bounds.are_reached()
        {
            let (Some(offset), Ok(unit)) = (header.debug_info_offset(), dwarf.unit(header)) else { continue };
            self.units.push(offset);
            self.pass_over_unit(&dwarf, &unit, bounds);
        }
        for globals in [&mut self.globals, &mut self.thread_locals] {
            globals.sort_by_key(|global| global.address);
        }
        self.functions.sort_by_key(|function| function.start);
        drop(dwarf);
        self.sections = sections;
    }

    fn pass_over_unit(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, bounds: Bounds) -> Option<()> {
        let number = self.units.len() as u32 - 1;
        let mut entries = unit.entries();
        let language = entries.next_dfs().ok()??.attr_value(gimli::DW_AT_language);
        let is_rust = matches!(language, Some(AttributeValue::Language(gimli::DW_LANG_Rust)));
        let mut namespaces = Namespaces::default();
        // The function that the entries are in, with its depth.
        let mut within: Option<(isize, Option<Rc<str>>)> = None;
        while let Some(entry) = entries.next_dfs().ok()? {
            // One unit can be all of a program.
            if bounds.are_reached() {
                break;
            }
            let described = TypeEntry { unit: number, offset: entry.offset() };
            namespaces.reach(entry.depth());
            within = within.filter(|&(depth, _)| depth < entry.depth());
            match entry.tag() {
                gimli::DW_TAG_namespace => namespaces.open(entry.depth(), name(dwarf, unit, entry)),
                gimli::DW_TAG_variable => {
                    let function = within.as_ref().and_then(|(_, name)| name.clone());
                    self.global(dwarf, unit, entry, number, function);
                }
                gimli::DW_TAG_subprogram => {
                    within = Some((entry.depth(), declared_name(dwarf, unit, entry, 0).map(Rc::from)));
                    let Ok(mut ranges) = dwarf.die_ranges(unit, entry) else { continue };
                    while let Ok(Some(range)) = ranges.next() {
                        let (start, end) = (range.begin, range.end);
                        self.functions.push(Function { start, end, unit: number, entry: described.offset });
                    }
                }
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    if is_rust && namespaces.are_of_rusts_library() {
                        self.library.insert(described);
                    }
                    if !entry.has_attr(gimli::DW_AT_declaration) {
                        self.name_type(name(dwarf, unit, entry), &namespaces, described);
                    }
                }
                gimli::DW_TAG_typedef | gimli::DW_TAG_base_type => {
                    self.name_type(name(dwarf, unit, entry), &namespaces, described);
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Notes the type of a name, with the namespaces that it is in and, if it is none of a library's, without them.
    fn name_type(&mut self, name: Option<String>, namespaces: &Namespaces, described: TypeEntry) {
        let Some(name) = name else { return };
        if !namespaces.are_empty() {
            self.types_by_name.entry(namespaces.path_of(&name).into()).or_insert(described);
        }
        if !self.library.contains(&described) && !namespaces.are_of_cpps_library() {
            self.types_by_name.entry(name.into()).or_insert(described);
        }
    }

    fn global(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        entry: &Entry<'_>,
        number: u32,
        function: Option<Rc<str>>,
    ) -> Option<()> {
        let place = place(dwarf, unit, entry)?;
        let declared =
            reference(entry, gimli::DW_AT_specification).and_then(|declared| unit.entry(declared).ok());
        let attribute = |entry: &Entry<'_>| reference(entry, gimli::DW_AT_type);
        let kind = attribute(entry).or_else(|| attribute(declared.as_ref()?))?;
        let kind = TypeEntry { unit: number, offset: kind };
        let global = |address| Global { address, kind, entry: entry.offset(), function };
        match place {
            Place::Address(address) => self.globals.push(global(address)),
            Place::OfThread(offset) => self.thread_locals.push(global(offset)),
        }
        let name = name(dwarf, unit, entry).or_else(|| name(dwarf, unit, declared.as_ref()?))?;
        self.globals_by_name.entry(name.into()).or_insert(kind);
        Some(())
    }

    /// The type of a global variable that starts at an address.
    pub(super) fn global_at(&mut self, address: u64) -> Option<TypeNumber> {
        let kind = at(&self.globals, address)?.kind;
        self.number(kind)
    }

    /// The type of the variable that each thread has its own of, so far from the start of them.
    pub(super) fn thread_local_at(&mut self, offset: u64) -> Option<TypeNumber> {
        let kind = at(&self.thread_locals, offset)?.kind;
        self.number(kind)
    }

    /// How the source declares the global variable that starts at an address.
    pub(super) fn declaration_at(&self, address: u64) -> Option<Declaration> {
        self.declaration(at(&self.globals, address)?)
    }

    /// How the source declares a variable that each thread has its own of.
    pub(super) fn thread_local_declaration_at(&self, offset: u64) -> Option<Declaration> {
        self.declaration(at(&self.thread_locals, offset)?)
    }

    fn declaration(&self, global: &Global) -> Option<Declaration> {
        let dwarf = borrowed(&self.sections);
        let unit = dwarf.unit(dwarf.unit_header(*self.units.get(global.kind.unit as usize)?).ok()?).ok()?;
        let entry = unit.entry(global.entry).ok()?;
        let declared =
            reference(&entry, gimli::DW_AT_specification).and_then(|declared| unit.entry(declared).ok());
        let entries = || std::iter::once(&entry).chain(&declared);
        let file = entries().find_map(|entry| entry.attr_value(gimli::DW_AT_decl_file));
        let line = entries().find_map(|entry| entry.attr_value(gimli::DW_AT_decl_line)?.udata_value());
        Some(Declaration {
            name: entries().find_map(|entry| name(&dwarf, &unit, entry)),
            function: global.function.as_deref().map(str::to_owned),
            file: file.and_then(|file| file_name(&dwarf, &unit, file)),
            line,
        })
    }

    /// The type of a global variable of this name.
    pub(super) fn global_named(&mut self, name: &str) -> Option<TypeNumber> {
        let kind = *self.globals_by_name.get(name)?;
        self.number(kind)
    }

    /// The type of this name.
    pub(super) fn type_named(&mut self, name: &str) -> Option<TypeNumber> {
        let kind = *self.types_by_name.get(name)?;
        self.number(kind)
    }

    /// The type that is described there.
    pub(super) fn number(&mut self, kind: TypeEntry) -> Option<TypeNumber> {
        if let Some(known) = self.types.number_of(kind) {
            return Some(known);
        }
        let dwarf = borrowed(&self.sections);
        let read = |types: &mut Types, kind: TypeEntry| {
            let unit = dwarf.unit(dwarf.unit_header(*self.units.get(kind.unit as usize)?).ok()?).ok()?;
            Reader { dwarf: &dwarf, unit: &unit, number: kind.unit, types, library: &self.library }
                .number(kind.offset, 0)
        };
        let number = read(&mut self.types, kind)?;
        // A type that is only declared here may be defined in another unit.
        let Some(name) = self.types.declared_name(number) else { return Some(number) };
        match self.types_by_name.get(&*name).copied().filter(|&defined| defined != kind) {
            Some(defined) => {
                let defined = read(&mut self.types, defined)?;
                self.types.learn(kind, defined);
                Some(defined)
            }
            None => Some(number),
        }
    }

    /// What a pointer of this type points to, or a smart pointer holds.
    pub(super) fn pointee(&mut self, pointer: TypeNumber) -> Option<TypeNumber> {
        let pointee = self.types.pointee(pointer)?;
        self.number(pointee)
    }

    /// The types that were read.
    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// The variables that are in scope at an address of the code.
    pub(super) fn scope(&mut self, address: u64) -> Option<Rc<Scope>> {
        if let Some(known) = self.scopes.get(&address) {
            return known.clone();
        }
        let scope = self.read_scope(address).map(Rc::new);
        self.scopes.insert(address, scope.clone());
        scope
    }

    fn read_scope(&self, address: u64) -> Option<Scope> {
        let next = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions[next.checked_sub(1)?];
        if address >= function.end {
            return None;
        }
        let dwarf = borrowed(&self.sections);
        let unit = dwarf.unit(dwarf.unit_header(self.units[function.unit as usize]).ok()?).ok()?;
        Scope::read(&dwarf, &unit, function.unit, function.entry, address)
    }
}

/// The namespaces or modules that an entry is in.
#[derive(Debug, Default)]
struct Namespaces {
    /// Each with its depth among the entries.
    open: Vec<(isize, String)>,
}

impl Namespaces {
    /// The next entry is so deep: those that are not above it are over.
    fn reach(&mut self, depth: isize) {
        while self.open.last().is_some_and(|&(open, _)| open >= depth) {
            self.open.pop();
        }
    }

    fn open(&mut self, depth: isize, name: Option<String>) {
        self.open.push((depth, name.unwrap_or_else(|| "(anonymous namespace)".to_owned())));
    }

    fn are_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn are_of_rusts_library(&self) -> bool {
        self.open.first().is_some_and(|(_, name)| ["core", "alloc", "std", "hashbrown"].contains(&&**name))
    }

    fn are_of_cpps_library(&self) -> bool {
        self.open.first().is_some_and(|(_, name)| ["std", "__gnu_cxx"].contains(&&**name))
    }

    /// A name with all of them.
    fn path_of(&self, name: &str) -> String {
        let mut path = String::new();
        for (_, namespace) in &self.open {
            path.push_str(namespace);
            path.push_str("::");
        }
        path + name
    }
}

fn read_sections(path: &str) -> Option<DwarfSections<Vec<u8>>> {
    let bytes = ReadCache::new(fs::File::open(path).ok()?);
    let file = object::File::parse(&bytes).ok()?;
    let information = file.section_by_name(".debug_info")?;
    if !file.is_little_endian() || information.size() > MOST_BYTES {
        return None;
    }
    // Large, and nothing here asks for them.
    let left_out = [
        gimli::SectionId::DebugAranges,
        gimli::SectionId::DebugLoc,
        gimli::SectionId::DebugLocLists,
        gimli::SectionId::DebugMacinfo,
        gimli::SectionId::DebugMacro,
    ];
    let section = |id: gimli::SectionId| {
        let wanted = Some(id).filter(|id| !left_out.contains(id));
        let data = wanted.and_then(|id| file.section_by_name(id.name())?.uncompressed_data().ok());
        Ok::<_, gimli::Error>(data.map(Cow::into_owned).unwrap_or_default())
    };
    DwarfSections::load(section).ok()
}

fn borrowed(sections: &DwarfSections<Vec<u8>>) -> Dwarf<'_> {
    sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))
}

/// The variable that starts at an address.
fn at(globals: &[Global], address: u64) -> Option<&Global> {
    let index = globals.binary_search_by_key(&address, |global| global.address).ok()?;
    Some(&globals[index])
}

/// Where a variable is, if it is at one place of the file, or of each thread's memory.
fn place(dwarf: &Dwarf<'_>, unit: &Unit<'_>, entry: &Entry<'_>) -> Option<Place> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
        return None;
    };
    let mut operations = expression.operations(unit.encoding());
    let first = match operations.next().ok()?? {
        Operation::Address { address } => Place::Address(address),
        Operation::AddressIndex { index } => Place::Address(dwarf.address(unit, index).ok()?),
        Operation::UnsignedConstant { value } => Place::OfThread(value),
        _ => return None,
    };
    match (first, operations.next().ok()?) {
        (Place::Address(_), None) => Some(first),
        (Place::OfThread(number) | Place::Address(number), Some(Operation::TLS)) => {
            operations.next().ok()?.is_none().then_some(Place::OfThread(number))
        }
        _ => None,
    }
}

/// The path of a file that an attribute names.
fn file_name(dwarf: &Dwarf<'_>, unit: &Unit<'_>, file: AttributeValue<Bytes<'_>>) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let number = match file {
        AttributeValue::FileIndex(number) => number,
        other => other.udata_value()?,
    };
    let text = |value| Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
    let file = header.file(number)?;
    let name = PathBuf::from(text(file.path_name())?);
    let directory = file.directory(header).and_then(text).unwrap_or_default();
    let compiled_in = unit.comp_dir.map(|directory| directory.to_string_lossy().into_owned());
    let path = Path::new(&compiled_in.unwrap_or_default()).join(directory).join(name);
    Some(path.to_string_lossy().into_owned())
}

/// The name of a function, which an entry for its code may have from another.
fn declared_name(dwarf: &Dwarf<'_>, unit: &Unit<'_>, entry: &Entry<'_>, depth: u32) -> Option<String> {
    name(dwarf, unit, entry).or_else(|| {
        let others = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let other = others.into_iter().find_map(|attribute| reference(entry, attribute))?;
        let other = unit.entry(other).ok().filter(|_| depth < 4)?;
        declared_name(dwarf, unit, &other, depth + 1)
    })
}

fn name(dwarf: &Dwarf<'_>, unit: &Unit<'_>, entry: &Entry<'_>) -> Option<String> {
    let name = dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
    Some(name.to_string_lossy().into_owned())
}

fn reference(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(attribute)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_information_is_read_as_long_as_there_is_time() {
        let own = std::env::current_exe().unwrap();
        let read = |bounds| DebugInfo::read(&own.to_string_lossy(), bounds);
        assert!(!read(Bounds::NONE).functions.is_empty());
        let cut = read(Bounds::start(None, Some(4096)));
        assert!(cut.units.is_empty() && cut.functions.is_empty());
    }
}
