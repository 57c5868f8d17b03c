//! What kind of program a file is, and whether the recorder can see into it: told from the file, before it runs.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::read::{Object, ObjectSymbol};

use crate::fingerprint;

/// The name the runtime answers to.
const RUNTIME: &[u8] = b"libtsan.so";

/// What the recorder can see of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
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
    /// It is no program.
    NotAProgram,
}

/// A program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// What can be seen of it.
    pub sight: Sight,
    /// Its build id in hexadecimal, empty if it has none.
    pub build_id: String,
    /// A checksum of its content, in hexadecimal.
    pub checksum: String,
}

impl Program {
    /// The program that a command's first word stands for, looked up as a shell does.
    pub fn find(command: &OsStr) -> io::Result<Program> {
        let path = locate(command)?;
        let bytes = crate::mapping::map_file(&path)?;
        let hash = fingerprint::of(&*bytes);
        Ok(Program {
            path,
            sight: sight(&bytes),
            build_id: build_id(&bytes),
            checksum: format!("{hash:016x}"),
        })
    }
}

fn locate(command: &OsStr) -> io::Result<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    if command.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        fs::metadata(&path)?;
        let denied = || io::Error::new(io::ErrorKind::PermissionDenied, "it is not executable");
        return if is_program(&path) { Ok(path) } else { Err(denied()) };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&path).map(|directory| directory.join(command)).find(|path| is_program(path));
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such program in PATH"))
}

fn build_id(bytes: &[u8]) -> String {
    let file = object::File::parse(bytes).ok();
    let id = file.as_ref().and_then(|file| file.build_id().ok().flatten()).unwrap_or_default();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sight(bytes: &[u8]) -> Sight {
    if bytes.starts_with(b"#!") {
        return Sight::Script;
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Sight::NotAProgram;
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return Sight::Foreign };
    let endian = file.endian();
    let header = file.elf_header();
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Sight::Foreign;
    }
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return Sight::NotAProgram;
    }
    let interpreted =
        file.elf_program_headers().iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    if !interpreted {
        return Sight::Static;
    }
    if needs_runtime(&file, bytes) {
        return Sight::Full;
    }
    let own = file.symbols().chain(file.dynamic_symbols());
    let mut own = own.filter(|symbol| symbol.is_definition() && symbol.name() == Ok("__tsan_init"));
    if own.next().is_some() { Sight::OwnRuntime } else { Sight::SyncOnly }
}

/// Whether the runtime is among the libraries it loads.
fn needs_runtime(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> bool {
    let endian = file.endian();
    let dynamic =
        file.elf_program_headers().iter().find_map(|segment| segment.dynamic(endian, bytes).ok()?);
    let Some(entries) = dynamic else { return false };
    let with = |tag: i64| entries.iter().filter(move |entry| entry.tag32(endian).map(i64::from) == Some(tag));
    let address = with(elf::DT_STRTAB).next().map(|entry| entry.d_val(endian));
    let Some(text) = address.and_then(|address| at_address(file, bytes, address)) else { return false };
    let mut names =
        with(elf::DT_NEEDED).filter_map(|entry| text.get(usize::try_from(entry.d_val(endian)).ok()?..));
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
        assert_eq!(sight(b"#!/bin/sh\n"), Sight::Script);
        assert_eq!(sight(b"hello"), Sight::NotAProgram);
        assert_eq!(sight(b"\x7fELF"), Sight::Foreign);
        assert_eq!(Program::find(OsStr::new("sh")).unwrap().sight, Sight::SyncOnly);
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
            sight(&whole[..cut]);
        }
    }
}
