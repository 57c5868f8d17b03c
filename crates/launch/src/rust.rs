//! Rust programs that can be recorded: what rustc and cargo are told.
//!
//! The sanitizer's pass is unstable in rustc, so `RUSTC_BOOTSTRAP=1` opens it on stable compilers too. The runtime is ours
//! (`-Zexternal-clangrt`) and comes first in the link, so that its functions are found before libc's. std stays as it was
//! shipped, without hooks (`-Cunsafe-allow-abi-mismatch`).

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::embedded;

/// The target that is built for: naming it keeps build scripts and macros out of the instrumented part.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The command that compiles one file to a program.
pub fn rustc(source: &Path, program: &Path) -> io::Result<Command> {
    let mut command = Command::new(named("RUSTC", "rustc"));
    command.env("RUSTC_BOOTSTRAP", "1").args(flags(&embedded::unpack()?.library));
    command.args(["--edition", "2024"]).arg(source).arg("-o").arg(program);
    Ok(command)
}

/// The command that is cargo with these arguments, building for recording. What it runs, tests and programs, is run by
/// `runner`.
pub fn cargo(arguments: &[OsString], runner: &str) -> io::Result<Command> {
    let flags = flags(&embedded::unpack()?.library);
    let mut encoded = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok().filter(|flags| !flags.is_empty());
    if encoded.is_none() {
        let plain = std::env::var("RUSTFLAGS").unwrap_or_default();
        encoded = Some(plain.split_whitespace().collect::<Vec<_>>().join("\x1f"));
    }
    let all: Vec<String> = encoded.into_iter().filter(|flags| !flags.is_empty()).chain(flags).collect();
    let (first, rest) = arguments.split_at(arguments.len().min(1));
    let mut command = Command::new(named("CARGO", "cargo"));
    command.args(first).args(["--target", TARGET]).args(rest);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", all.join("\x1f"));
    command.env(format!("CARGO_TARGET_{}_RUNNER", TARGET.to_uppercase().replace('-', "_")), runner);
    Ok(command)
}

fn named(variable: &str, otherwise: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| otherwise.into())
}

fn flags(library: &Path) -> Vec<String> {
    let directory = library.parent().unwrap_or(Path::new(".")).display();
    [
        "-Zsanitizer=thread".to_owned(),
        "-Zexternal-clangrt".to_owned(),
        "-Cunsafe-allow-abi-mismatch=sanitizer".to_owned(),
        "-Cdebuginfo=2".to_owned(),
        "-Zpre-link-arg=-Wl,--push-state,--no-as-needed".to_owned(),
        format!("-Zpre-link-arg={}", library.display()),
        "-Zpre-link-arg=-Wl,--pop-state".to_owned(),
        format!("-Clink-arg=-Wl,--enable-new-dtags,-rpath,{directory}"),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_comes_first_and_is_found() {
        let flags = flags(Path::new("/r/libtsan.so.2"));
        assert!(flags.contains(&"-Zpre-link-arg=/r/libtsan.so.2".to_owned()), "{flags:?}");
        assert!(flags.last().is_some_and(|flag| flag.ends_with("-rpath,/r")), "{flags:?}");
    }
}
