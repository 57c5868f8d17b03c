//! Rust programs that can be recorded: what rustc and cargo are told.
//!
//! The sanitizer's pass is unstable in rustc, so `RUSTC_BOOTSTRAP=1` opens it on stable compilers too. The runtime is ours
//! (`-Zexternal-clangrt`) and comes first in the link, so that its functions are found before libc's. std stays as it was
//! shipped, without hooks (`-Cunsafe-allow-abi-mismatch`); the runtime is told of those of its functions that order threads ([`calls`]).

mod calls;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use crate::embedded;

/// The target that is built for: naming it keeps build scripts and macros out of the instrumented part.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What rustc is told of instrumentation. LLVM leaves a read out that a write follows, unless it is told otherwise.
const FLAGS: [&str; 5] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cllvm-args=-tsan-instrument-read-before-write",
    "-Cdebuginfo=2",
];

/// The command that compiles one file to a program.
pub fn rustc(source: &Path, program: &Path, more: &[OsString]) -> io::Result<Command> {
    let mut command = compiler(None);
    command.args(flags(None)?).args(["--edition", "2024", "-Copt-level=1"]);
    command.arg("--target").arg(TARGET).args(more).arg(source).arg("-o").arg(program);
    Ok(command)
}

/// The command that is cargo with these arguments, building for recording. What it runs, tests and programs, is run by
/// `runner`.
pub fn cargo(arguments: &[OsString], runner: &str) -> io::Result<Command> {
    let is_toolchain = |word: &&OsString| word.as_encoded_bytes().starts_with(b"+");
    let toolchain = arguments.first().filter(is_toolchain);
    let (toolchain, arguments) = match toolchain {
        Some(toolchain) => (Some(toolchain.as_os_str()), &arguments[1..]),
        None => (None, arguments),
    };
    let all: Vec<String> = own_flags().into_iter().chain(flags(toolchain)?).collect();
    let (first, rest) = arguments.split_at(arguments.len().min(1));
    let mut command = Command::new(named("CARGO", "cargo"));
    command.args(toolchain).args(first).args(["--target", TARGET]).args(rest);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", all.join("\x1f"));
    // What is optimised across crates does not call std's functions any more.
    for profile in ["DEV", "TEST", "RELEASE", "BENCH"] {
        command.env(format!("CARGO_PROFILE_{profile}_LTO"), "off");
    }
    command.env(format!("CARGO_TARGET_{}_RUNNER", TARGET.to_uppercase().replace('-', "_")), runner);
    Ok(command)
}

/// The user's flags for rustc.
fn own_flags() -> Vec<String> {
    let split = |flags: String, at: fn(char) -> bool| -> Vec<String> {
        flags.split(at).filter(|flag| !flag.is_empty()).map(str::to_owned).collect()
    };
    match std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        Ok(encoded) => split(encoded, |letter| letter == '\x1f'),
        Err(_) => split(std::env::var("RUSTFLAGS").unwrap_or_default(), char::is_whitespace),
    }
}

fn compiler(toolchain: Option<&OsStr>) -> Command {
    let mut command = Command::new(named("RUSTC", "rustc"));
    command.args(toolchain).env("RUSTC_BOOTSTRAP", "1");
    command
}

fn named(variable: &str, otherwise: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| otherwise.into())
}

/// What rustc is told.
fn flags(toolchain: Option<&OsStr>) -> io::Result<Vec<String>> {
    let library = embedded::unpack()?.library;
    let directory = library.parent().unwrap_or(Path::new("."));
    let cache = directory.parent().unwrap_or(directory);
    let calls = calls::wrapping(|| compiler(toolchain), TARGET, cache)?;
    Ok(flags_with(&library, &calls))
}

fn flags_with(library: &Path, calls: &calls::Wrapping) -> Vec<String> {
    let directory = library.parent().unwrap_or(Path::new(".")).display();
    let mut flags: Vec<String> = FLAGS.map(str::to_owned).into();
    flags.push("-Zpre-link-arg=-Wl,--push-state,--no-as-needed".to_owned());
    flags.push(format!("-Zpre-link-arg={}", library.display()));
    flags.push("-Zpre-link-arg=-Wl,--pop-state".to_owned());
    flags.push(format!("-Zpre-link-arg={}", calls.object.display()));
    flags.extend(calls.symbols.iter().map(|symbol| format!("-Clink-arg=-Wl,--wrap={symbol}")));
    flags.push(format!("-Clink-arg=-Wl,--enable-new-dtags,-rpath,{directory}"));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_comes_first_and_is_found() {
        let calls = calls::Wrapping { object: "/r/calls.o".into(), symbols: vec!["wait".to_owned()] };
        let flags = flags_with(Path::new("/r/libtsan.so.2"), &calls);
        assert!(flags.contains(&"-Zpre-link-arg=/r/libtsan.so.2".to_owned()), "{flags:?}");
        assert!(flags.contains(&"-Clink-arg=-Wl,--wrap=wait".to_owned()), "{flags:?}");
        assert!(flags.last().is_some_and(|flag| flag.ends_with("-rpath,/r")), "{flags:?}");
    }
}
