//! The files that were mapped into the program: from addresses to functions, lines and symbols.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use addr2line::Loader;
use bounds::Bounds;
use object::read::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache};
use object::{SectionKind, SymbolKind};
use rustc_hash::FxHashMap;
use trace::{Module, is_of_the_system};

use super::debug::{Code, DebugInfo, FrameBase, Local};
use super::pool::ReachedMember;
use super::source::{SourceFiles, Token, tokens};
use super::statics::{name_apart, needs_declarations};
use super::typing::{Typing, without_indices};

/// One frame of a place in the code, inlined functions apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The function's name, demangled.
    pub(super) function: Option<String>,
    /// `file:line`, or the module and the offset in it.
    pub(super) location: String,
    /// Whose code it is.
    pub(super) owner: CodeOwner,
}

impl Frame {
    /// Whether it is in the user's code.
    pub(super) fn is_users(&self) -> bool {
        self.owner == CodeOwner::Users
    }
}

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CodeOwner {
    /// The user's.
    Users,
    /// The compiler's or the system's headers.
    System,
    /// No source is known.
    #[default]
    Unknown,
}

/// Where a function is called, the stack is aligned so.
const ALIGNMENT: u64 = 16;
/// The number of bytes of a local variable that are searched for what can lie at a place.
const MOST_OF_A_LOCAL: u64 = 1 << 16;

/// A variable the symbol table knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataSymbol {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// A module, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleNumber(usize);

/// All modules of a process.
pub(super) struct Modules {
    modules: Vec<Mapped>,
    /// Paths below it are shown relative to it.
    directory: String,
    frames: FxHashMap<u64, Vec<Frame>>,
    sources: SourceFiles,
    /// What [`Modules::local_by_line`] has found before. An array has as many variables as it has elements, and asks as often.
    named_by_line: FxHashMap<(u64, u64, Option<u64>), Option<String>>,
    /// What lines reach through pointers, by the address after the access and its length.
    pub(super) reached_members: FxHashMap<(u64, Option<u64>), Option<ReachedMember>>,
    /// What it may take to read what they say.
    bounds: Bounds,
    /// The address of the variable that has a name alone.
    owners: FxHashMap<String, u64>,
}

/// One file, and where it is.
struct Mapped {
    path: String,
    /// What to subtract from an address to get one of the file's own.
    bias: u64,
    start: u64,
    end: u64,
    /// Opened when first needed.
    lines: Option<Option<Loader>>,
    /// In the order of their addresses, which are the file's own.
    data: Option<Vec<DataSymbol>>,
    /// Of a program: the variables that each thread has its own of.
    thread_locals: Option<Option<ThreadLocals>>,
    debug: Option<DebugInfo>,
    code: Option<Option<Code>>,
    build_id: String,
    /// Whether it is no program: it names no loader.
    is_library: bool,
}

impl Modules {
    /// The modules listed in this text: `start end offset path` a line, numbers in hexadecimal. Files that are no
    /// programs or libraries are passed over.
    pub(super) fn listed(text: &str, directory: &Path) -> Modules {
        let mut modules: Vec<Mapped> = Vec::new();
        for (start, end, offset, path) in text.lines().filter_map(parse) {
            // A file is mapped piece by piece; one that was unloaded may come back elsewhere.
            let known = modules.iter().any(|module| module.path == path && module.covers(start));
            if !known {
                modules.extend(Mapped::new(path, start, end, offset));
            }
        }
        let directory = format!("{}/", directory.display());
        Modules {
            modules,
            directory,
            frames: FxHashMap::default(),
            sources: SourceFiles::default(),
            named_by_line: FxHashMap::default(),
            reached_members: FxHashMap::default(),
            bounds: Bounds::NONE,
            owners: FxHashMap::default(),
        }
    }

    /// The same, whose files may be read within bounds.
    pub(super) fn within(self, bounds: Bounds) -> Modules {
        Modules { bounds, ..self }
    }

    /// The modules in this text that was kept with a recording, where those that were recorded are known. A file that is gone or is not
    /// the same any more says nothing about them: its name and the places in it are all that is known. Also the files that have changed.
    pub(super) fn listed_again(text: &str, directory: &Path, recorded: &[Module]) -> (Modules, Vec<String>) {
        let mut modules = Modules::listed(text, directory);
        let mut changed = Vec::new();
        let mut known = std::mem::take(&mut modules.modules);
        for recorded in recorded {
            let place = known.iter().position(|module| module.is(recorded));
            if place.is_none() && !changed.contains(&recorded.path) {
                changed.push(recorded.path.clone());
            }
            modules.modules.push(place.map_or_else(|| Mapped::nameless(recorded), |at| known.remove(at)));
        }
        (modules, changed)
    }

    /// What the trace keeps of them.
    pub(super) fn described(&self) -> Vec<Module> {
        let describe = |module: &Mapped| Module {
            path: module.path.clone(),
            start: module.start,
            end: module.end,
            offset: module.start.wrapping_sub(module.bias),
            build_id: module.build_id.clone(),
        };
        self.modules.iter().map(describe).collect()
    }

    /// The frames at an address of code, the innermost first; at least one.
    pub(super) fn frames(&mut self, address: u64) -> &[Frame] {
        if !self.frames.contains_key(&address) {
            let frames = self.look_up(address);
            self.frames.insert(address, frames);
        }
        &self.frames[&address]
    }

    fn look_up(&mut self, address: u64) -> Vec<Frame> {
        let directory = &self.directory;
        let Some(module) = self.modules.iter_mut().rev().find(|module| module.covers(address)) else {
            let location = if address == 0 { "?".to_owned() } else { format!("{address:#x}") };
            return vec![Frame { location, ..Frame::default() }];
        };
        let own = address.wrapping_sub(module.bias);
        let mut frames = module.source_frames(own, directory);
        if frames.is_empty() {
            let name = Path::new(&module.path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            let function = module.function(own);
            frames.push(Frame { function, location: format!("{name}+{own:#x}"), owner: CodeOwner::Unknown });
        }
        frames
    }

    /// The variable of the symbol table an address lies in. Its address is one of the process.
    pub(super) fn data_symbol(&mut self, address: u64) -> Option<DataSymbol> {
        let module = self.modules.iter_mut().rev().find(|module| module.covers(address))?;
        let own = address.wrapping_sub(module.bias);
        let symbols = module.data(&self.directory, self.bounds);
        let index = symbols.partition_point(|symbol| symbol.address <= own).checked_sub(1)?;
        let symbol = symbols[index].clone();
        if own - symbol.address >= symbol.size {
            return None;
        }
        let address = symbol.address.wrapping_add(module.bias);
        // Two modules may have variables of one name, each for itself.
        let name = match *self.owners.entry(symbol.name.clone()).or_insert(address) == address {
            true => symbol.name,
            false => format!("{} ({})", symbol.name, module.path.rsplit('/').next().unwrap_or_default()),
        };
        Some(DataSymbol { name, address, ..symbol })
    }

    /// The variable of the program that each thread has its own of, so far below the thread pointer, with the part that is meant.
    pub(super) fn thread_local(&mut self, below: u64, length: Option<u64>) -> Option<String> {
        let program = self.modules.iter_mut().find(|module| !module.is_library)?;
        let (directory, bounds) = (&self.directory, self.bounds);
        let own = program.thread_locals(directory, bounds)?.at(below)?;
        let (symbol, into) = own;
        let debug = program.debug.get_or_insert_with(|| DebugInfo::read(&program.path, bounds));
        let kind = debug.thread_local_at(symbol.address);
        let part = kind.map(|kind| debug.types().path(kind, into, length).text);
        Some(
            symbol.name + &part.unwrap_or_else(|| if into == 0 { String::new() } else { format!("+{into}") }),
        )
    }

    /// How what lies at an address within a variable of the symbol table, and is so long, is written behind the variable's name.
    pub(super) fn part(&mut self, symbol: &DataSymbol, address: u64, length: Option<u64>) -> Option<String> {
        let (_, start, debug) = self.debug_at(symbol.address)?;
        let kind = debug.global_at(start)?;
        Some(debug.types().path(kind, address - symbol.address, length).text)
    }

    /// The debug information of the module that an address lies in: the module, and the address in it.
    pub(super) fn debug_at(&mut self, address: u64) -> Option<(ModuleNumber, u64, &mut DebugInfo)> {
        let index = self.modules.iter().rposition(|module| module.covers(address))?;
        let own = address.wrapping_sub(self.modules[index].bias);
        Some((ModuleNumber(index), own, self.debug_of(ModuleNumber(index))?))
    }

    /// The debug information of a module.
    pub(super) fn debug_of(&mut self, number: ModuleNumber) -> Option<&mut DebugInfo> {
        let (module, bounds) = (self.modules.get_mut(number.0)?, self.bounds);
        Some(module.debug.get_or_insert_with(|| DebugInfo::read(&module.path, bounds)))
    }

    /// The file and the line of a frame.
    fn source_of(&self, frame: &Frame) -> Option<(String, u32)> {
        let (file, line) = frame.location.rsplit_once(':')?;
        let file = if file.starts_with('/') { file.to_owned() } else { format!("{}{file}", self.directory) };
        Some((file, line.parse().ok()?))
    }

    /// The line of source that a frame is at.
    pub(super) fn line_at(&mut self, frame: &Frame) -> Option<String> {
        let (file, line) = self.source_of(frame)?;
        self.sources.line(&file, line)
    }

    /// The statement of source that a frame is at.
    pub(super) fn statement_at(&mut self, frame: &Frame) -> Option<String> {
        let (file, line) = self.source_of(frame)?;
        self.sources.statement(&file, line)
    }

    /// The function that the code at an address is in, not those inlined into it.
    pub(super) fn function(&mut self, address: u64) -> Option<String> {
        self.frames(address).last().and_then(|frame| frame.function.clone())
    }

    /// How far the first argument of a call, which returns to an address, is from the base of the caller's frame.
    fn argument_in_frame(&mut self, return_address: u64) -> Option<i64> {
        let (number, own, debug) = self.debug_at(return_address)?;
        let base = debug.scope(own.checked_sub(1)?)?.base?;
        let module = &mut self.modules[number.0];
        let code = module.code.get_or_insert_with(|| Code::open(&module.path)).as_ref()?;
        code.distance_from_base(code.first_argument(own)?, base, own - 1)
    }

    /// The base of the frame of a caller, whose call had this first argument and returns to an address.
    pub(super) fn frame_base(&mut self, return_address: u64, argument: u64) -> Option<u64> {
        let offset = self.argument_in_frame(return_address)?;
        let (_, own, debug) = self.debug_at(return_address)?;
        let base = debug.scope(own.checked_sub(1)?)?.base?;
        let address = argument.wrapping_sub(offset as u64);
        // Frames are aligned: one that is not is a misunderstanding.
        let is_aligned = address.wrapping_sub(base.distance() as u64).is_multiple_of(ALIGNMENT);
        (is_aligned || matches!(base, FrameBase::Register(_))).then_some(address)
    }

    /// The local variable so far from the base of its frame, at an address of its function, with the part that is meant:
    /// `main::forks[1].owner`.
    pub(super) fn local(&mut self, address: u64, offset: i64, length: Option<u64>) -> Option<String> {
        let (_, own, debug) = self.debug_at(address)?;
        let scope = debug.scope(own)?;
        let mut part = |local: &Local| {
            let kind = debug.number(local.kind()?)?;
            let into = u64::try_from(offset.checked_sub(local.offset?)?).ok()?;
            let types = debug.types();
            let path = (into < types.size(kind)).then(|| types.path(kind, into, length))?;
            Some((local.name.clone() + &path.text, path.is_exact))
        };
        let within = scope.locals.iter().rev().find_map(&mut part).map(|(part, _)| part);
        let part = within.or_else(|| {
            // Variables of different blocks may share a place.
            let mut parts: Vec<(String, bool)> = scope.elsewhere.iter().filter_map(part).collect();
            parts.dedup();
            parts.pop().filter(|(_, is_exact)| *is_exact && parts.is_empty()).map(|(part, _)| part)
        })?;
        Some(format!("{}::{part}", self.function(address)?))
    }

    /// The local variable whose address a call that returns to an address has for its first argument, if it can reach to a place of the
    /// stack: which part of it lies there is not known.
    pub(super) fn local_passed(&mut self, return_address: u64, place: u64) -> Option<String> {
        let offset = self.argument_in_frame(return_address)?;
        let (_, own, debug) = self.debug_at(return_address)?;
        let scope = debug.scope(own.checked_sub(1)?)?;
        let distance = scope.base?.distance();
        let is_there = |local: &&Local| local.offset == Some(offset);
        let local = scope.locals.iter().rev().chain(&scope.elsewhere).find(is_there)?;
        let kind = debug.number(local.kind()?)?;
        let start = place.wrapping_sub((offset + distance) as u64) % ALIGNMENT;
        let name = (start < debug.types().size(kind)).then(|| local.name.clone())?;
        Some(format!("{}::{name}", self.function(return_address - 1)?))
    }

    /// The local variable that the line at an address names, if it is the only one there that can lie at a place of the stack. Frames are
    /// aligned, so the last digits of the place say which it can be.
    pub(super) fn local_by_line(&mut self, address: u64, place: u64, length: Option<u64>) -> Option<String> {
        let key = (address, place % ALIGNMENT, length);
        if let Some(name) = self.named_by_line.get(&key) {
            return name.clone();
        }
        let name = self.find_local_by_line(address, place, length);
        self.named_by_line.insert(key, name.clone());
        name
    }

    fn find_local_by_line(&mut self, address: u64, place: u64, length: Option<u64>) -> Option<String> {
        let frame = self.frames(address).iter().find(|frame| frame.is_users()).cloned()?;
        let text = self.line_at(&frame)?;
        let tokens = tokens(&text);
        let (_, own, debug) = self.debug_at(address)?;
        let scope = debug.scope(own)?;
        let distance = scope.base?.distance();
        // `*sum += 1`: what a pointer leads to may lie on the same stack.
        let reached = Typing { debug, scope: Some(&*scope) }.reached(&tokens);
        if reached.iter().any(|reached| reached.places(debug, length).next().is_some()) {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        for local in &scope.locals {
            let (Some(kind), Some(offset)) = (local.kind().and_then(|kind| debug.number(kind)), local.offset)
            else {
                continue;
            };
            if !tokens.contains(&Token::Word(&local.name)) {
                continue;
            }
            let types = debug.types();
            let start = place.wrapping_sub((offset + distance) as u64) % ALIGNMENT;
            let places = (start..types.size(kind).min(MOST_OF_A_LOCAL)).step_by(ALIGNMENT as usize);
            let paths = places.map(|into| types.path(kind, into, length)).filter(|path| path.is_exact);
            let mut paths: Vec<String> = paths.map(|path| path.text).collect();
            if paths.len() > 1 {
                paths.iter_mut().for_each(|path| *path = without_indices(path));
                paths.dedup();
            }
            parts.extend(paths.into_iter().map(|path| local.name.clone() + &path));
        }
        match &parts[..] {
            [only] => Some(format!("{}::{only}", self.function(address)?)),
            _ => None,
        }
    }

    /// The library that an address of code lies in; none if it is the program's own.
    pub(super) fn library_at(&self, address: u64) -> Option<ModuleNumber> {
        let index = self.modules.iter().rposition(|module| module.covers(address))?;
        self.modules[index].is_library.then_some(ModuleNumber(index))
    }

    /// The path of a module.
    pub(super) fn path(&self, number: ModuleNumber) -> &str {
        &self.modules[number.0].path
    }

    /// Whether a module calls hooks for its accesses.
    pub(super) fn is_instrumented(&self, number: ModuleNumber) -> bool {
        let read = || -> Option<bool> {
            let bytes = ReadCache::new(fs::File::open(self.path(number)).ok()?);
            let file = object::File::parse(&bytes).ok()?;
            let mut symbols = file.dynamic_symbols();
            Some(symbols.any(|symbol| {
                symbol.is_undefined() && symbol.name().is_ok_and(|name| name.starts_with("__tsan_"))
            }))
        };
        read().unwrap_or(false)
    }

    /// The module an address lies in: its file name, and the address in it.
    pub(super) fn module_at(&self, address: u64) -> Option<(&str, u64)> {
        let module = self.modules.iter().rev().find(|module| module.covers(address))?;
        let name = module.path.rsplit('/').next().unwrap_or(&module.path);
        Some((name, address.wrapping_sub(module.bias)))
    }
}

fn parse(line: &str) -> Option<(u64, u64, u64, &str)> {
    let mut words = line.splitn(4, ' ');
    let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let (start, end, offset) = (number()?, number()?, number()?);
    let path = words.next()?.trim();
    path.starts_with('/').then_some((start, end, offset, path))
}

impl Mapped {
    /// A file that is mapped there, if it is a program or a library. Its addresses go further than what is mapped
    /// from the file, since zeroed data follow.
    fn new(path: &str, start: u64, end: u64, offset: u64) -> Option<Mapped> {
        let bytes = ReadCache::new(fs::File::open(path).ok()?);
        let file = object::File::parse(&bytes).ok()?;
        let of_mapping = file.segments().find(|segment| {
            let (start, size) = segment.file_range();
            (start & !0xfff..start + size).contains(&offset)
        })?;
        let (in_file, _) = of_mapping.file_range();
        let bias = start.wrapping_sub(of_mapping.address().wrapping_sub(in_file).wrapping_add(offset));
        let first = file.segments().map(|segment| segment.address() & !0xfff).min()?;
        let last = file.segments().map(|segment| segment.address().saturating_add(segment.size())).max()?;
        let build_id = file.build_id().ok().flatten().unwrap_or_default();
        Some(Mapped {
            path: path.to_owned(),
            bias,
            start: start.min(bias.wrapping_add(first)),
            end: end.max(bias.wrapping_add(last)),
            lines: None,
            data: None,
            thread_locals: None,
            debug: None,
            code: None,
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            is_library: file.section_by_name(".interp").is_none(),
        })
    }

    /// Whether it is the module that was recorded.
    fn is(&self, recorded: &Module) -> bool {
        let place = (self.start, self.end) == (recorded.start, recorded.end);
        place && self.path == recorded.path && self.build_id == recorded.build_id
    }

    /// A file of which only the path is known.
    fn nameless(recorded: &Module) -> Mapped {
        Mapped {
            path: recorded.path.clone(),
            bias: recorded.start.wrapping_sub(recorded.offset),
            start: recorded.start,
            end: recorded.end,
            lines: Some(None),
            data: Some(Vec::new()),
            thread_locals: Some(None),
            debug: Some(DebugInfo::default()),
            code: Some(None),
            build_id: recorded.build_id.clone(),
            is_library: false,
        }
    }

    fn covers(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    fn loader(&mut self) -> Option<&Loader> {
        self.lines.get_or_insert_with(|| Loader::new(&self.path).ok()).as_ref()
    }

    fn function(&mut self, own: u64) -> Option<String> {
        self.loader()?.find_symbol(own).map(demangled)
    }

    fn source_frames(&mut self, own: u64, directory: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Some(Ok(mut found)) = self.loader().map(|loader| loader.find_frames(own)) else { return frames };
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.and_then(|name| Some(demangled(&name.raw_name().ok()?)));
            let Some((file, line)) = frame.location.and_then(|at| Some((at.file?, at.line?))) else {
                continue;
            };
            let file = &*without_detours(file);
            let owner = if is_of_the_system(file) { CodeOwner::System } else { CodeOwner::Users };
            let location = format!("{}:{line}", file.strip_prefix(directory).unwrap_or(file));
            frames.push(Frame { function, location, owner });
        }
        // The debug information calls every lambda `operator()`; the symbol says in which function it is.
        if let Some(frame) = frames.last_mut()
            && frame.function.as_deref().is_some_and(|function| function.starts_with("operator"))
        {
            frame.function = self.function(own).or(frame.function.take());
        }
        frames
    }

    fn thread_locals(&mut self, directory: &str, bounds: Bounds) -> Option<&ThreadLocals> {
        let Mapped { path, thread_locals, debug, .. } = self;
        let read = || {
            let mut own = ThreadLocals::read(path)?;
            if needs_declarations(&own.symbols) {
                let debug = debug.get_or_insert_with(|| DebugInfo::read(path, bounds));
                let declaration = |symbol: &DataSymbol| debug.thread_local_declaration_at(symbol.address);
                name_apart(&mut own.symbols, directory, declaration);
            }
            Some(own)
        };
        thread_locals.get_or_insert_with(read).as_ref()
    }

    fn data(&mut self, directory: &str, bounds: Bounds) -> &[DataSymbol] {
        let Mapped { path, data, debug, .. } = self;
        data.get_or_insert_with(|| {
            let mut symbols = read_symbols(path, SymbolKind::Data).unwrap_or_default();
            if needs_declarations(&symbols) {
                let debug = debug.get_or_insert_with(|| DebugInfo::read(path, bounds));
                name_apart(&mut symbols, directory, |symbol| debug.declaration_at(symbol.address));
            }
            symbols
        })
    }
}

/// The variables of a program that each thread has its own of.
struct ThreadLocals {
    /// How far below the thread pointer they begin.
    distance: u64,
    /// In the order of their addresses, which are offsets from there.
    symbols: Vec<DataSymbol>,
}

impl ThreadLocals {
    fn read(path: &str) -> Option<ThreadLocals> {
        let bytes = ReadCache::new(fs::File::open(path).ok()?);
        let file = object::File::parse(&bytes).ok()?;
        let is_own = |kind| matches!(kind, SectionKind::Tls | SectionKind::UninitializedTls);
        let own = || file.sections().filter(|section| is_own(section.kind()));
        let start = own().map(|section| section.address()).min()?;
        let end = own().map(|section| section.address() + section.size()).max()?;
        let alignment = own().map(|section| section.align()).max()?.max(1);
        // As the dynamic linker places those of the program: directly below the thread pointer, aligned as in the file.
        let shift = (alignment - start % alignment) % alignment;
        let distance = (end - start).saturating_sub(shift).next_multiple_of(alignment) + shift;
        Some(ThreadLocals { distance, symbols: read_symbols(path, SymbolKind::Tls)? })
    }

    /// The variable so far below the thread pointer, and how far into it that is.
    fn at(&self, below: u64) -> Option<(DataSymbol, u64)> {
        let own = self.distance.checked_sub(below)?;
        let symbol =
            &self.symbols[self.symbols.partition_point(|symbol| symbol.address <= own).checked_sub(1)?];
        let into = own - symbol.address;
        (into < symbol.size).then(|| (symbol.clone(), into))
    }
}

fn read_symbols(path: &str, kind: SymbolKind) -> Option<Vec<DataSymbol>> {
    let bytes = ReadCache::new(fs::File::open(path).ok()?);
    let file = object::File::parse(&bytes).ok()?;
    let all = file.symbols().chain(file.dynamic_symbols());
    let data = all.filter(|symbol| !symbol.is_undefined() && symbol.kind() == kind && symbol.size() > 0);
    let described = data.filter_map(|symbol| {
        let name = demangled(symbol.name().ok()?);
        Some(DataSymbol { name, address: symbol.address(), size: symbol.size() })
    });
    let mut symbols: Vec<DataSymbol> = described.collect();
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    symbols.dedup_by_key(|symbol| symbol.address);
    Some(symbols)
}

/// A path without its `..`: compilers name their headers by the way they came.
pub(super) fn without_detours(path: &str) -> Cow<'_, str> {
    if !path.contains("/../") {
        return Cow::Borrowed(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if !matches!(*last, "" | "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Cow::Owned(parts.join("/"))
}

/// Whether a file is one of the compiler's or the system's headers: what a user looks for is who called.
fn demangled(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    match name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name)) {
        // Which form of its strings a library has is nothing that a user wrote.
        Some(Ok(symbol)) => {
            symbol.demangle().map_or_else(|_| name.to_owned(), |plain| plain.replace("[abi:cxx11]", ""))
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_list_are_parsed() {
        assert_eq!(parse("1000 2000 0 /a b.so"), Some((0x1000, 0x2000, 0, "/a b.so")));
        assert_eq!(parse("1000 2000 0 [heap]"), None);
        assert_eq!(parse("x"), None);
    }

    #[test]
    fn names_are_demangled() {
        assert_eq!(demangled("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangled("main"), "main");
        assert_eq!(
            demangled("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"),
            "core::fmt::Formatter::write_str"
        );
    }

    #[test]
    fn paths_lose_their_detours() {
        assert_eq!(without_detours("/usr/bin/../lib/gcc/../../include/x.h"), "/usr/include/x.h");
        assert_eq!(without_detours("../../a/../b.c"), "../../b.c");
        assert_eq!(without_detours("a.c"), "a.c");
    }

    #[test]
    fn addresses_of_nothing_are_told_as_they_are() {
        let mut modules = Modules::listed("", Path::new("/d"));
        assert_eq!(modules.frames(0)[0].location, "?");
        assert_eq!(modules.frames(0x1234)[0].location, "0x1234");
    }
}
