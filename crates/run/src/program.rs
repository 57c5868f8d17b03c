//! What kind of program a file is, and whether the recorder can see into it: told from the file, before it runs.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::read::{Object, ObjectSymbol};

/// The name the runtime answers to.
const RUNTIME: &[u8] = b"libtsan.so";

/// What the recorder can see of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recordability {
    /// Everything: it is instrumented and loads the runtime.
    Full,
    /// Locks and threads, if the runtime is preloaded: it is not instrumented.
    SyncOnly,
    /// Nothing: it was linked with the sanitizer's own runtime inside.
    OwnRuntime,
    /// Nothing: it loads no libraries at all.
    Static,
    /// Nothing: it is for another processor.
    Foreign,
    /// It is a script; what it starts may be seen.
    Script,
    /// Nothing: it runs as another user, and the system loads no library of the caller's into such a program.
    Privileged,
    /// It is a library, to be loaded by a program.
    Library,
    /// It is no program.
    NotAProgram,
}

/// A program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// What can be seen of it.
    pub recordability: Recordability,
    /// Whether it says which source its code is of.
    pub has_lines: bool,
    /// Its build id in hexadecimal, empty if it has none.
    pub build_id: String,
    /// A checksum of its content, in hexadecimal.
    pub checksum: String,
}

/// A checksum of some bytes, in hexadecimal: whether a file is still the same, not who made it.
pub fn checksum(bytes: &[u8]) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

impl Program {
    /// The program that a command's first word stands for, looked up as a shell does.
    pub fn find(command: &OsStr) -> io::Result<Program> {
        let path = locate(command)?;
        let bytes = crate::mapping::map_file(&path)?;
        Ok(Program {
            recordability: if is_privileged(&path)? {
                Recordability::Privileged
            } else {
                recordability(&bytes)
            },
            has_lines: has_lines(&bytes),
            path,
            build_id: build_id(&bytes),
            checksum: checksum(&bytes),
        })
    }
}

pub(crate) fn locate(command: &OsStr) -> io::Result<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    if command.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        fs::metadata(&path)?;
        let why = match path.is_dir() {
            true => "it is a directory",
            false => "it is not executable",
        };
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, why);
        return if is_program(&path) { Ok(path) } else { Err(denied()) };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&path).map(|directory| directory.join(command)).find(|path| is_program(path));
    let why = match is_program(Path::new(command)) {
        true => format!("there is no such program in PATH; the one here is `./{}`", command.display()),
        false => "there is no such program in PATH".to_owned(),
    };
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, why))
}

/// Whether the system starts it as another user or group than ours.
fn is_privileged(path: &Path) -> io::Result<bool> {
    let facts = fs::metadata(path)?;
    let has = |bit: u32| facts.mode() & bit != 0;
    Ok(has(0o4000) && facts.uid() != nix::unistd::geteuid().as_raw()
        || has(0o2000) && facts.gid() != nix::unistd::getegid().as_raw())
}

/// Whether it has debug information, or says in which file that is.
fn has_lines(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    [".debug_line", ".zdebug_line", ".gnu_debuglink"].iter().any(|name| file.section_by_name(name).is_some())
}

fn build_id(bytes: &[u8]) -> String {
    let file = object::File::parse(bytes).ok();
    let id = file.as_ref().and_then(|file| file.build_id().ok().flatten()).unwrap_or_default();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn recordability(bytes: &[u8]) -> Recordability {
    if bytes.starts_with(b"#!") {
        return Recordability::Script;
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Recordability::NotAProgram;
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return Recordability::Foreign };
    let endian = file.endian();
    let header = file.elf_header();
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Recordability::Foreign;
    }
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return Recordability::NotAProgram;
    }
    let interpreted =
        file.elf_program_headers().iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    if !interpreted {
        let is_library = header.e_type(endian) == elf::ET_DYN && !is_position_independent(&file, bytes);
        return if is_library { Recordability::Library } else { Recordability::Static };
    }
    if needs_runtime(&file, bytes) {
        return Recordability::Full;
    }
    let own = file.symbols().chain(file.dynamic_symbols());
    let mut own = own.filter(|symbol| symbol.is_definition() && symbol.name() == Ok("__tsan_init"));
    if own.next().is_some() { Recordability::OwnRuntime } else { Recordability::SyncOnly }
}

/// The values that the file has for the loader under a tag.
fn tagged_values<'a>(
    file: &ElfFile64<'a, Endianness>,
    bytes: &'a [u8],
    tag: i64,
) -> impl Iterator<Item = u64> {
    let endian = file.endian();
    let dynamic =
        file.elf_program_headers().iter().find_map(|segment| segment.dynamic(endian, bytes).ok()?);
    let tagged = dynamic.unwrap_or_default().iter();
    tagged
        .filter(move |entry| entry.tag32(endian).map(i64::from) == Some(tag))
        .map(move |entry| entry.d_val(endian))
}

/// Whether it is a program that runs wherever it is put, which looks much like a library.
fn is_position_independent(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> bool {
    tagged_values(file, bytes, elf::DT_FLAGS_1).any(|flags| flags & u64::from(elf::DF_1_PIE) != 0)
}

/// Whether the runtime is among the libraries it loads.
fn needs_runtime(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> bool {
    let address = tagged_values(file, bytes, elf::DT_STRTAB).next();
    let Some(text) = address.and_then(|address| at_address(file, bytes, address)) else { return false };
    let mut names = tagged_values(file, bytes, elf::DT_NEEDED)
        .filter_map(|offset| text.get(usize::try_from(offset).ok()?..));
    names.any(|name| name.starts_with(RUNTIME))
}

/// The bytes of the file from an address of its own on.
fn at_address<'a>(file: &ElfFile64<'_, Endianness>, bytes: &'a [u8], address: u64) -> Option<&'a [u8]> {
    let endian = file.endian();
    let segment = file.elf_program_headers().iter().find(|segment| {
        let start = segment.p_vaddr(endian);
        segment.p_type(endian) == elf::PT_LOAD
            && address >= start
            && address - start < segment.p_filesz(endian)
    })?;
    let offset = address - segment.p_vaddr(endian) + segment.p_offset(endian);
    bytes.get(usize::try_from(offset).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_by_their_content() {
        assert_eq!(recordability(b"#!/bin/sh\n"), Recordability::Script);
        assert_eq!(recordability(b"hello"), Recordability::NotAProgram);
        assert_eq!(recordability(b"\x7fELF"), Recordability::Foreign);
        assert_eq!(Program::find(OsStr::new("sh")).unwrap().recordability, Recordability::SyncOnly);
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        let not_found = Program::find(OsStr::new("no-such-program-here")).unwrap_err();
        assert_eq!(not_found.kind(), io::ErrorKind::NotFound);
        assert_eq!(
            Program::find(OsStr::new("/dev/null")).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
    }

    #[test]
    fn no_cut_program_makes_it_stumble() {
        let whole = fs::read(locate(OsStr::new("sh")).unwrap()).unwrap();
        for cut in (0..whole.len().min(20_000)).step_by(7) {
            recordability(&whole[..cut]);
        }
    }
}
