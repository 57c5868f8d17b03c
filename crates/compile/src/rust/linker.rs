//! Intercepts the slow paths of locks in the crates that a program is linked with.
//!
//! The symbols of a crate have a hash of its version and features in their names, so they are known only when the program is linked. Rustc
//! runs this program in place of the linker: it reads the names in the libraries, has the linker redirect calls of those in [`CALLS`] as
//! [`calls`] does for std, and becomes the linker. A function that is inlined or generic has no such name; what the fast paths of
//! locks do is recognised in the recording (crate `load`).

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use wire::StdCall;

use super::calls::{self, Wrapped};
use super::links::link;
use crate::{embedded, fingerprint};

/// The functions of crates whose inside is hidden, by their paths, and what they are to the runtime. The first argument of each is the object.
const CALLS: &[(&str, StdCall)] = &[
    ("parking_lot::raw_mutex::RawMutex::lock_slow", StdCall::SlowLock),
    ("parking_lot::raw_mutex::RawMutex::unlock_slow", StdCall::SlowUnlock),
    ("parking_lot::raw_mutex::RawMutex::bump_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow", StdCall::SlowLock),
    ("parking_lot::raw_rwlock::RawRwLock::unlock_exclusive_slow", StdCall::SlowUnlock),
    ("parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", StdCall::SlowLock),
    ("parking_lot::raw_rwlock::RawRwLock::unlock_shared_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::lock_upgradable_slow", StdCall::SlowLock),
    ("parking_lot::raw_rwlock::RawRwLock::unlock_upgradable_slow", StdCall::SlowUnlock),
    ("parking_lot::raw_rwlock::RawRwLock::upgrade_slow", StdCall::SlowLock),
    ("parking_lot::raw_rwlock::RawRwLock::downgrade_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::downgrade_to_upgradable_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::bump_shared_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::bump_exclusive_slow", StdCall::Hidden),
    ("parking_lot::raw_rwlock::RawRwLock::bump_upgradable_slow", StdCall::Hidden),
    ("parking_lot::condvar::Condvar::wait_until_internal", StdCall::SlowWait),
    ("parking_lot::condvar::Condvar::notify_one_slow", StdCall::Hidden),
    ("parking_lot::condvar::Condvar::notify_all_slow", StdCall::Hidden),
    ("parking_lot_core::parking_lot::ThreadData as core::ops::drop::Drop::drop", StdCall::Hidden),
    ("dashmap::lock::RawRwLock::lock_exclusive_slow", StdCall::SlowLockForGood),
    ("dashmap::lock::RawRwLock::unlock_exclusive_slow", StdCall::SlowUnlock),
    ("dashmap::lock::RawRwLock::lock_shared_slow", StdCall::SlowLockForGood),
    ("dashmap::lock::RawRwLock::unlock_shared_slow", StdCall::Hidden),
    ("dashmap::lock::RawRwLock::downgrade_slow", StdCall::Hidden),
];

/// The name this program is called by.
const LINKER: &str = "foretell-link";

/// The user's own linker, which ours is in the place of.
const OWN_LINKER: &str = "FORETELL_OWN_LINKER";

/// The linker that rustc uses by itself.
const DEFAULT: &str = "cc";

/// Has rustc run `this` program in place of the user's linker: the option for rustc. A linker that is no compiler takes other arguments, and
/// stays as it is.
pub(super) fn option(this: &Path, own: Option<&str>, cargo: &mut Command) -> io::Result<Option<String>> {
    let own = own.unwrap_or(DEFAULT);
    let name = Path::new(own).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if !["cc", "gcc", "clang", "g++"].iter().any(|compiler| name.contains(compiler)) {
        return Ok(None);
    }
    let link = link(this, LINKER, |_| true)?;
    cargo.env(OWN_LINKER, own);
    Ok(Some(format!("-Clinker={}", link.display())))
}

/// The linker that rustc wants to run, if this program was called in its place: with what is added to its arguments.
pub(super) fn called(arguments: &[OsString]) -> Option<io::Result<Command>> {
    let name = Path::new(arguments.first()?).file_name()?;
    (name == LINKER).then(|| linking(&arguments[1..]))
}

fn linking(arguments: &[OsString]) -> io::Result<Command> {
    let own = env::var_os(OWN_LINKER).filter(|own| !own.is_empty()).unwrap_or_else(|| DEFAULT.into());
    let mut linker = Command::new(&own);
    let mut wrapped = Vec::new();
    for library in libraries(arguments)? {
        wrapped
            .extend(calls::symbols(&fs::read(library)?).filter_map(|symbol| calls::wrapped(symbol, CALLS)));
    }
    wrapped.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    wrapped.dedup();
    if !wrapped.is_empty() {
        linker.arg(assembled(&own, &wrapped)?);
    }
    linker.args(arguments);
    linker.args(wrapped.iter().map(|wrapped| format!("-Wl,--wrap={}", wrapped.symbol)));
    Ok(linker)
}

/// The libraries of crates among the arguments, and in the files that arguments name.
fn libraries(arguments: &[OsString]) -> io::Result<Vec<PathBuf>> {
    let mut libraries = Vec::new();
    for argument in arguments {
        match argument.to_str().and_then(|argument| argument.strip_prefix('@')) {
            Some(file) => {
                libraries.extend(unescaped(&fs::read_to_string(file)?).into_iter().map(PathBuf::from))
            }
            None => libraries.push(PathBuf::from(argument)),
        }
    }
    libraries.retain(|path| path.extension() == Some(OsStr::new("rlib")) && path.is_file());
    Ok(libraries)
}

/// The arguments in a file of rustc's: one a line, with backslashes before what is special.
fn unescaped(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    for line in text.lines() {
        let mut argument = String::new();
        let mut letters = line.chars().filter(|&letter| letter != '"');
        while let Some(letter) = letters.next() {
            argument.extend(if letter == '\\' { letters.next() } else { Some(letter) });
        }
        arguments.push(argument);
    }
    arguments
}

/// An object file that wraps these functions, made by the compiler that links.
fn assembled(compiler: &OsStr, wrapped: &[Wrapped]) -> io::Result<PathBuf> {
    let source = format!(
        ".intel_syntax noprefix\n.text\n{}.section .note.GNU-stack,\"\",@progbits\n",
        calls::assembly(wrapped)
    );
    let cache = embedded::unpack()?.include;
    let directory = cache.parent().unwrap_or(&cache);
    let object = directory.join(format!("crates-{:016x}.o", fingerprint(&[source.as_bytes()])));
    if object.exists() {
        return Ok(object);
    }
    let work = tempfile::Builder::new().prefix("crates-").tempdir_in(directory)?;
    let (file, made) = (work.path().join("calls.s"), work.path().join("calls.o"));
    fs::write(&file, source)?;
    let output = Command::new(compiler).arg("-c").arg(&file).arg("-o").arg(&made).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    fs::rename(&made, &object)?;
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_crates_are_found_under_both_manglings() {
        let legacy = "_ZN11parking_lot9raw_mutex8RawMutex9lock_slow17h0123456789abcdefE";
        assert_eq!(calls::wrapped(legacy, CALLS).unwrap().call, StdCall::SlowLock);
        let new = "_RNvMs3_NtCs4fqI2P2rA04_11parking_lot9raw_mutexNtB5_8RawMutex9lock_slow";
        assert_eq!(calls::wrapped(new, CALLS).unwrap().call, StdCall::SlowLock);
        let other = "_ZN4bank9raw_mutex8RawMutex9lock_slow17h0123456789abcdefE";
        assert_eq!(calls::wrapped(other, CALLS), None);
    }

    #[test]
    fn libraries_are_found_in_files_of_arguments_too() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("lib a.rlib");
        fs::write(&library, b"").unwrap();
        let file = directory.path().join("arguments");
        fs::write(&file, format!("-m64\n{}\n", library.display().to_string().replace(' ', "\\ "))).unwrap();
        let arguments = [OsString::from(format!("@{}", file.display())), "-lc".into()];
        assert_eq!(libraries(&arguments).unwrap(), [library]);
    }

    #[test]
    fn only_a_compiler_that_links_is_replaced() {
        let mut cargo = Command::new("cargo");
        assert_eq!(option(Path::new("/f"), Some("rust-lld"), &mut cargo).unwrap(), None);
        let option = option(Path::new("/f"), Some("x86_64-linux-gnu-gcc-12"), &mut cargo).unwrap().unwrap();
        assert!(option.starts_with("-Clinker=") && option.ends_with(LINKER), "{option}");
    }
}
