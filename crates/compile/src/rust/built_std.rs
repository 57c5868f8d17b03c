//! A std that is compiled with the program (`-Zbuild-std`), and the options for cargo's rustc and rustdoc.
//!
//! core and alloc are instrumented like the program. The crate std itself is not: its locks and condition
//! variables consist of atomic operations whose number depends on contention. They are hidden, and calls of them
//! are intercepted instead ([`calls`]), as with the precompiled std. The symbols are known only after std has
//! been compiled, so cargo runs rustc through this program, which adds them to the link.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::links::link;
use super::{TARGET, calls};
use crate::embedded;

/// The crates that cargo compiles: all that programs and tests may use.
pub(super) const CRATES: &str = "-Zbuild-std=std,proc_macro,panic_unwind,panic_abort,test";

/// Where rustup puts the source of std, in the directory of a toolchain.
pub(super) const SOURCE: &str = "lib/rustlib/src/rust/library/Cargo.lock";

/// What is instrumented of the crates that std consists of.
const INSTRUMENTED: [&str; 2] = ["core", "alloc"];

/// The names this program is called by.
const RUSTC: &str = "foretell-rustc";
const RUSTDOC: &str = "foretell-rustdoc";

/// The user's own wrapper of rustc, and rustdoc, which ours is in the place of.
const OWN_WRAPPER: &str = "FORETELL_OWN_RUSTC_WRAPPER";
const OWN_RUSTDOC: &str = "FORETELL_OWN_RUSTDOC";

/// Makes a command of cargo's run rustc and rustdoc through `this` program.
pub(super) fn pass_by(this: &Path, cargo: &mut Command) -> io::Result<()> {
    let own = |variable: &str| env::var_os(variable).unwrap_or_default();
    cargo.env(OWN_WRAPPER, own("RUSTC_WRAPPER")).env("RUSTC_WRAPPER", link(this, RUSTC, |_| true)?);
    cargo.env(OWN_RUSTDOC, own("RUSTDOC")).env("RUSTDOC", link(this, RUSTDOC, |_| true)?);
    Ok(())
}

/// The compiler that cargo wants to run, if this program was called in its place: with what is added to its arguments.
pub(super) fn called(arguments: &[OsString]) -> Option<io::Result<Command>> {
    let name = Path::new(arguments.first()?).file_name()?;
    let own = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty());
    let (program, rest) = match name.to_str()? {
        RUSTC => (arguments.get(1)?.clone(), &arguments[2..]),
        RUSTDOC => (own(OWN_RUSTDOC).unwrap_or_else(|| "rustdoc".into()), &arguments[1..]),
        _ => return None,
    };
    let compiler = PathBuf::from(&program);
    let rustc = if name == RUSTC { compiler } else { compiler.with_file_name("rustc") };
    Some(changed(rest, &rustc).map(|changed| {
        let wrapper = own(OWN_WRAPPER).filter(|_| name == RUSTC);
        let words: Vec<OsString> = wrapper.into_iter().chain([program]).chain(changed).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }))
}

/// The arguments of rustc as they are to be.
fn changed(arguments: &[OsString], rustc: &Path) -> io::Result<Vec<OsString>> {
    let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    if hides(&texts) {
        let mut kept = arguments.to_vec();
        kept.retain(|argument| argument != "-Zsanitizer=thread");
        // What calls itself within one unit is not stood before.
        kept.push("-Ccodegen-units=1".into());
        return Ok(kept);
    }
    let mut changed = arguments.to_vec();
    if let Some(library) = library_of_std(&texts) {
        let cache = embedded::unpack()?.include;
        let cache = cache.parent().unwrap_or(&cache);
        let wrapping = calls::wrapping_of(&library, || super::bootstrapped(rustc), TARGET, cache)?;
        changed.extend(wrapping.flags().into_iter().map(OsString::from));
    }
    Ok(changed)
}

/// Whether a crate is of std and not instrumented.
fn hides(arguments: &[&str]) -> bool {
    // Cargo says so to all crates of std, and to no others.
    let of_std = arguments.iter().any(|argument| argument.ends_with("force-unstable-if-unmarked"));
    let name = arguments.windows(2).find(|pair| pair[0] == "--crate-name").map(|pair| pair[1]);
    of_std && name.is_none_or(|name| !INSTRUMENTED.contains(&name))
}

/// The library of std that a crate is given, if it is built with the program.
fn library_of_std(arguments: &[&str]) -> Option<PathBuf> {
    let given = arguments.windows(2).filter(|pair| pair[0] == "--extern").map(|pair| pair[1]);
    let paths = given
        .filter_map(|given| given.split_once('='))
        .filter(|(name, _)| name.rsplit(':').next() == Some("std"));
    // A crate that is not linked is given less than the library.
    paths.map(|(_, path)| PathBuf::from(path)).find(|path| path.extension() == Some(OsStr::new("rlib")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn changed_line(line: &str) -> String {
        let changed = changed(&words(line), Path::new("rustc")).unwrap();
        changed.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn std_itself_is_not_instrumented_and_the_rest_is() {
        let std = "--crate-name std lib.rs -Z force-unstable-if-unmarked -Zsanitizer=thread";
        assert_eq!(
            changed_line(std),
            "--crate-name std lib.rs -Z force-unstable-if-unmarked -Ccodegen-units=1"
        );
        for line in [
            "--crate-name alloc lib.rs -Z force-unstable-if-unmarked -Zsanitizer=thread",
            "--crate-name std lib.rs -Zsanitizer=thread",
            "--crate-name bank main.rs --extern noprelude:std=/t/libstd-1.rmeta",
        ] {
            assert_eq!(changed_line(line), line);
        }
    }

    #[test]
    fn the_library_of_std_is_known_where_something_is_linked() {
        let line = ["--extern", "queue=/t/libqueue.rlib", "--extern", "noprelude:std=/t/libstd-1.rlib"];
        assert_eq!(library_of_std(&line), Some("/t/libstd-1.rlib".into()));
        assert_eq!(library_of_std(&line[..2]), None);
    }

    #[test]
    fn only_by_its_names_it_is_a_compiler() {
        assert!(called(&words("/usr/bin/foretell rustc -vV")).is_none());
        let command = called(&words("/c/foretell-rustc /bin/rustc -vV")).unwrap().unwrap();
        assert_eq!(command.get_program(), "/bin/rustc");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-vV"]);
    }
}
