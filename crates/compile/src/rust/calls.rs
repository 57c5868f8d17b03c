//! Intercepts calls of the functions of Rust's std that order threads.
//!
//! std is precompiled, without hooks. The linker's `--wrap` redirects a call of one of its symbols to code that
//! we link in, which notifies the runtime, calls the function, and notifies the runtime again. The symbols are
//! read from the std library of the toolchain; programs cannot call a function that it does not have.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use wire::StdCall;

use crate::fingerprint;

/// Paths of functions, and what they are to the runtime.
const CALLS: &[(&str, StdCall)] = &[
    ("std::sys::sync::condvar::futex::Condvar::wait", StdCall::Wait),
    ("std::sys::sync::condvar::futex::Condvar::wait_timeout", StdCall::WaitTimeout),
    ("std::sync::poison::condvar::Condvar::notify_one", StdCall::NotifyOne),
    ("std::sync::poison::condvar::Condvar::notify_all", StdCall::NotifyAll),
    ("std::sync::nonpoison::condvar::Condvar::notify_one", StdCall::NotifyOne),
    ("std::sync::nonpoison::condvar::Condvar::notify_all", StdCall::NotifyAll),
    ("std::sync::condvar::Condvar::notify_one", StdCall::NotifyOne),
    ("std::sync::condvar::Condvar::notify_all", StdCall::NotifyAll),
    ("std::sync::barrier::Barrier::wait", StdCall::Barrier),
    ("std::sys::sync::once::futex::Once::call", StdCall::Once),
    ("std::thread::scoped::ScopeData::decrement_num_running_threads", StdCall::ScopeEnd),
    ("std::sys::sync::mutex::futex::Mutex::lock_contended", StdCall::Contended),
    ("std::sys::sync::rwlock::futex::RwLock::read_contended", StdCall::Contended),
    ("std::sys::sync::rwlock::futex::RwLock::write_contended", StdCall::Contended),
    ("std::io::stdio::_print", StdCall::Print),
    ("std::io::stdio::_eprint", StdCall::Print),
];

/// A symbol of std, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    pub(super) symbol: String,
    pub(super) call: StdCall,
}

/// What is added to a link: an object file, and the symbols it wraps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrapping {
    pub(super) object: PathBuf,
    pub(super) symbols: Vec<String>,
}

impl Wrapping {
    /// The options for rustc that add it.
    pub(super) fn flags(&self) -> Vec<String> {
        let object = format!("-Zpre-link-arg={}", self.object.display());
        let symbols = self.symbols.iter().map(|symbol| format!("-Clink-arg=-Wl,--wrap={symbol}"));
        [object].into_iter().chain(symbols).collect()
    }
}

/// Makes what programs of this compiler are to be linked with, in a directory of ours; `rustc` is the compiler with the options that choose it.
pub(super) fn wrapping(rustc: impl Fn() -> Command, target: &str, cache: &Path) -> io::Result<Wrapping> {
    wrapping_of(&library_of_std(rustc(), target)?, rustc, target, cache)
}

/// The same for programs with this library of std.
pub(super) fn wrapping_of(
    library: &Path,
    rustc: impl Fn() -> Command,
    target: &str,
    cache: &Path,
) -> io::Result<Wrapping> {
    let mut wrapped: Vec<Wrapped> =
        symbols(&fs::read(library)?).filter_map(|symbol| wrapped(symbol, CALLS)).collect();
    wrapped.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    let source = source(&wrapped);
    let object = cache.join(format!("rust-{:016x}.o", fingerprint(&[source.as_bytes()])));
    if !object.exists() {
        compile(rustc(), target, &source, &object)?;
    }
    Ok(Wrapping { object, symbols: wrapped.into_iter().map(|wrapped| wrapped.symbol).collect() })
}

fn library_of_std(mut rustc: Command, target: &str) -> io::Result<PathBuf> {
    let output = rustc.args(["--print", "target-libdir", "--target", target]).output().map_err(|error| {
        let compiler = rustc.get_program().display();
        io::Error::new(error.kind(), format!("`{compiler}` cannot be run: {error}"))
    })?;
    let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let files = fs::read_dir(&directory)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_std = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    };
    let missing = || {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("{} has no library of std for {target}", directory.display()),
        )
    };
    files.into_iter().find(is_std).ok_or_else(missing)
}

/// The names in the index of an archive.
pub(super) fn symbols(archive: &[u8]) -> impl Iterator<Item = &str> {
    const MAGIC: usize = 8;
    const HEADER: usize = 60;
    let index = (|| {
        let header = archive.get(MAGIC..MAGIC + HEADER).filter(|header| header.starts_with(b"/ "))?;
        let length: usize = std::str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
        let index = archive.get(MAGIC + HEADER..)?.get(..length)?;
        let count = u32::from_be_bytes(index.get(..4)?.try_into().ok()?) as usize;
        index.get(4 + 4 * count..)
    })();
    index.unwrap_or_default().split(|&byte| byte == 0).filter_map(|name| std::str::from_utf8(name).ok())
}

/// What a symbol is among these functions, if it is one of them.
pub(super) fn wrapped(symbol: &str, functions: &[(&str, StdCall)]) -> Option<Wrapped> {
    let name = format!("{:#}", rustc_demangle::try_demangle(symbol).ok()?);
    let path = name.replacen('<', "", 1).replacen(">::", "::", 1);
    let &(_, call) = functions.iter().find(|(function, _)| *function == path)?;
    Some(Wrapped { symbol: symbol.to_owned(), call })
}

/// Assembly that wraps these functions. Their arguments are few and simple: the registers of arguments and results are kept.
pub(super) fn assembly(wrapped: &[Wrapped]) -> String {
    let mut code = String::new();
    for Wrapped { symbol, call } in wrapped {
        let number = call.number();
        // Writing to a string cannot fail.
        let _ = write!(
            code,
            "
.globl __wrap_{symbol}
.type __wrap_{symbol}, @function
__wrap_{symbol}:
.cfi_startproc
sub rsp, 72
.cfi_adjust_cfa_offset 72
mov [rsp], rdi
mov [rsp + 8], rsi
mov [rsp + 16], rdx
mov [rsp + 24], rcx
mov [rsp + 32], r8
mov [rsp + 40], r9
mov rdx, rsi
mov rsi, rdi
mov r8, rcx
mov edi, {number}
mov rcx, [rsp + 72]
call qword ptr [rip + foretell_rust_enter@GOTPCREL]
mov [rsp + 48], rax
mov rdi, [rsp]
mov rsi, [rsp + 8]
mov rdx, [rsp + 16]
mov rcx, [rsp + 24]
mov r8, [rsp + 32]
mov r9, [rsp + 40]
call __real_{symbol}
mov [rsp + 56], rax
mov [rsp + 64], rdx
mov edi, {number}
mov rsi, [rsp]
mov rdx, [rsp + 8]
mov rcx, [rsp + 72]
mov r8, [rsp + 48]
mov r9, rax
call qword ptr [rip + foretell_rust_leave@GOTPCREL]
mov rax, [rsp + 56]
mov rdx, [rsp + 64]
add rsp, 72
.cfi_adjust_cfa_offset -72
ret
.cfi_endproc
.size __wrap_{symbol}, . - __wrap_{symbol}
"
        );
    }
    code
}

/// A Rust file whose object wraps these functions.
fn source(wrapped: &[Wrapped]) -> String {
    let code = assembly(wrapped);
    format!(
        "#![no_std]\ncore::arch::global_asm!(r#\"
.text
foretell_rust_start:
jmp qword ptr [rip + foretell_rust_program@GOTPCREL]
.pushsection .init_array, \"aw\"
.p2align 3
.quad foretell_rust_start
.popsection
{code}\"#);\n"
    )
}

/// Compiles it. It appears whole or not at all.
fn compile(mut rustc: Command, target: &str, source: &str, object: &Path) -> io::Result<()> {
    let directory = object.parent().unwrap_or(Path::new("."));
    let work = tempfile::Builder::new().prefix("rust-").tempdir_in(directory)?;
    let (file, made) = (work.path().join("calls.rs"), work.path().join("calls.o"));
    fs::write(&file, source)?;
    rustc.args(["--crate-type", "lib", "--emit", "obj", "-Cpanic=abort", "--target", target]);
    let output = rustc.arg(&file).arg("-o").arg(&made).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    fs::rename(&made, object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_under_any_mangling() {
        let wait = wrapped("_ZN3std4sync7barrier7Barrier4wait17h0123456789abcdefE", CALLS).unwrap();
        assert_eq!(wait.call, StdCall::Barrier);
        assert_eq!(wrapped("_ZN3std4sync7barrier7Barrier3new17h0123456789abcdefE", CALLS), None);
        assert_eq!(wrapped("memcpy", CALLS), None);
        let source = source(&[wait]);
        assert!(source.contains("__real__ZN3std4sync7barrier7Barrier4wait17h0123456789abcdefE"), "{source}");
    }

    #[test]
    fn the_index_of_an_archive_is_read() {
        let mut archive = b"!<arch>\n/               0           0     0     0       16        `\n".to_vec();
        archive.extend([0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 9]);
        archive.extend(b"a\0b\0");
        assert_eq!(symbols(&archive).filter(|name| !name.is_empty()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(symbols(&archive[..70]).filter(|name| !name.is_empty()).count(), 0);
        assert_eq!(symbols(b"").filter(|name| !name.is_empty()).count(), 0);
    }
}
