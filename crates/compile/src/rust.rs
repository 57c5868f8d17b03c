//! Rust programs that can be recorded: the options for rustc and cargo.
//!
//! The sanitizer's pass is unstable in rustc, so `RUSTC_BOOTSTRAP=1` enables it on stable compilers as well. The
//! runtime is ours (`-Zexternal-clangrt`) and comes first in the link, so that its functions take precedence
//! over libc's. std has no hooks (`-Cunsafe-allow-abi-mismatch`); calls of its functions that order threads are
//! intercepted ([`calls`]).

mod built_std;
mod calls;
mod cargo;
mod linker;
mod links;
mod own_flags;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

pub use cargo::{Cargo, CargoError, Runner, Std};
pub use links::without_runner_name;

use crate::compiler::Branches;
use crate::embedded;

/// The target that is built for: naming it keeps build scripts and macros out of the instrumented part.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The options for instrumentation. By default LLVM omits a read that a write follows.
const FLAGS: [&str; 6] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cllvm-args=-tsan-instrument-read-before-write",
    "-Cdebuginfo=2",
    // Cargo strips what its profile optimises.
    "-Cstrip=none",
];

/// Has LLVM call a hook on every edge between basic blocks. Its own assembler cannot note branches as GNU's does (compiler/branches.s), so
/// this costs up to a fifth of a run, and is left out unless all branches are asked for.
const NOTING_BRANCHES: [&str; 3] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-pc",
];

/// The command that compiles one file to a program.
pub fn rustc(source: &Path, program: &Path, more: &[OsString]) -> io::Result<Command> {
    let mut command = compiler(None);
    command.args(flags(None, Std::Shipped, Branches::asked())?).args(["--edition", "2024", "-Copt-level=1"]);
    command.arg("--target").arg(TARGET).args(more).arg(source).arg("-o").arg(program);
    Ok(command)
}

/// The compiler or linker that cargo or rustc wants to run, if this program was called in its place.
pub fn called(arguments: &[OsString]) -> Option<io::Result<Command>> {
    built_std::called(arguments).or_else(|| linker::called(arguments))
}

fn compiler(toolchain: Option<&OsStr>) -> Command {
    let mut command = bootstrapped(Path::new(&named("RUSTC", "rustc")));
    command.args(toolchain);
    command
}

/// A compiler that takes what is not stable.
fn bootstrapped(rustc: &Path) -> Command {
    let mut command = Command::new(rustc);
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

fn named(variable: &str, otherwise: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| otherwise.into())
}

/// The options for rustc. If std is built with the program, more are added once it has been built.
fn flags(toolchain: Option<&OsStr>, std: Std, branches: Branches) -> io::Result<Vec<String>> {
    let library = embedded::unpack()?.library;
    let mut flags = flags_with(&library);
    if branches == Branches::All {
        flags.extend(NOTING_BRANCHES.map(str::to_owned));
    }
    if std == Std::Shipped {
        let directory = library.parent().unwrap_or(Path::new("."));
        let cache = directory.parent().unwrap_or(directory);
        flags.extend(calls::wrapping(|| compiler(toolchain), TARGET, cache)?.flags());
    }
    Ok(flags)
}

fn flags_with(library: &Path) -> Vec<String> {
    let directory = library.parent().unwrap_or(Path::new(".")).display();
    let mut flags: Vec<String> = FLAGS.map(str::to_owned).into();
    flags.push("-Zpre-link-arg=-Wl,--push-state,--no-as-needed".to_owned());
    flags.push(format!("-Zpre-link-arg={}", library.display()));
    flags.push("-Zpre-link-arg=-Wl,--pop-state".to_owned());
    flags.push(format!("-Clink-arg=-Wl,--enable-new-dtags,-rpath,{directory}"));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_comes_first_and_is_found() {
        let flags = flags_with(Path::new("/r/libtsan.so.2"));
        assert!(flags.contains(&"-Zpre-link-arg=/r/libtsan.so.2".to_owned()), "{flags:?}");
        let calls = calls::Wrapping { object: "/r/calls.o".into(), symbols: vec!["wait".to_owned()] };
        assert_eq!(calls.flags(), ["-Zpre-link-arg=/r/calls.o", "-Clink-arg=-Wl,--wrap=wait"]);
        assert!(flags.last().is_some_and(|flag| flag.ends_with("-rpath,/r")), "{flags:?}");
    }
}
