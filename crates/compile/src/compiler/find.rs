//! The user's compiler and its family.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, and what else the C compiler takes.
    C,
    /// C++, linked with its library.
    Cpp,
}

impl Language {
    /// The variable that names the compiler.
    pub const fn variable(self) -> &'static str {
        match self {
            Language::C => "FORETELL_CC",
            Language::Cpp => "FORETELL_CXX",
        }
    }

    const fn usual(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cpp => ["c++", "g++", "clang++"],
        }
    }
}

/// Whose flags a compiler understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// GNU's.
    Gcc,
    /// LLVM's.
    Clang,
}

/// There is no compiler to be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCompiler {
    /// None of the usual ones is there.
    #[error("no compiler found: there is none of {}, and {} is not set", .0.usual().join(", "), .0.variable())]
    None(Language),
    /// It would call itself for ever.
    #[error("{} names foretell itself, not a compiler", .0.variable())]
    Ourselves(Language),
}

/// A compiler: the words that start its command, and its family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compiler {
    pub(super) words: Vec<OsString>,
    pub(super) family: Family,
}

/// The compiler that is asked for, or that the environment names (it may have arguments: `ccache gcc`), or the first of the usual ones.
pub(super) fn compiler(language: Language, asked: Option<&OsStr>) -> Result<Compiler, NoCompiler> {
    let named = env::var_os(language.variable()).unwrap_or_default();
    let words = asked.map_or_else(|| words(&named), |asked| vec![asked.to_owned()]);
    if !words.is_empty() {
        if is_ourselves(&words[0]) {
            return Err(NoCompiler::Ourselves(language));
        }
        let family = words.iter().rev().find_map(|word| family_of_name(word));
        let family = family.unwrap_or_else(|| family_of(Path::new(&words[0]), &words[1..]));
        return Ok(Compiler { words, family });
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let own = env::current_exe().ok();
    let found = language.usual().into_iter().find_map(|name| in_path(&path, name, own.as_deref()));
    let found = found.ok_or(NoCompiler::None(language))?;
    let family = family_of(&found, &[]);
    Ok(Compiler { words: vec![found.into()], family })
}

fn words(named: &OsStr) -> Vec<OsString> {
    match named.to_str() {
        Some(named) => named.split_whitespace().map(OsString::from).collect(),
        None => vec![named.to_owned()],
    }
}

/// Whether a word of the user's names this program.
pub(super) fn is_ourselves(word: &OsStr) -> bool {
    let Ok(own) = env::current_exe() else { return false };
    let path = env::var_os("PATH").unwrap_or_default();
    let named = match Path::new(word).components().count() {
        1 => env::split_paths(&path).map(|directory| directory.join(word)).find(|path| path.is_file()),
        _ => Some(word.into()),
    };
    named.and_then(|named| named.canonicalize().ok()).is_some_and(|named| named == own)
}

/// The program with this name, unless it is a link to ourselves.
fn in_path(path: &OsStr, name: &str, own: Option<&Path>) -> Option<PathBuf> {
    env::split_paths(path).map(|directory| directory.join(name)).find(|candidate| {
        let real = candidate.canonicalize().ok();
        real.as_deref().is_some_and(Path::is_file) && real.as_deref() != own
    })
}

/// By its name, or that of what it is a link to, or what it says of itself.
fn family_of(program: &Path, arguments: &[OsString]) -> Family {
    let real = program.canonicalize().ok();
    let named = [Some(program), real.as_deref()];
    named.into_iter().flatten().find_map(|path| family_of_name(path.as_os_str())).unwrap_or_else(|| {
        let output = Command::new(program).args(arguments).arg("--version").output();
        let says_clang = output.is_ok_and(|output| contains(&output.stdout, b"clang"));
        if says_clang { Family::Clang } else { Family::Gcc }
    })
}

fn family_of_name(program: &OsStr) -> Option<Family> {
    let name = Path::new(program).file_name()?.to_str()?;
    if name.contains("clang") {
        Some(Family::Clang)
    } else if name.contains("gcc") || name.contains("g++") {
        Some(Family::Gcc)
    } else {
        None
    }
}

/// Whether there is an assembler of GNU's that reads what clang writes: debug information in DWARF 5, which 2.35 does not know in full.
pub(super) fn has_gnu_assembler() -> bool {
    let output = Command::new("as").arg("--version").output();
    output.is_ok_and(|output| is_gnu_since(&String::from_utf8_lossy(&output.stdout), [2, 36]))
}

/// Whether an assembler says that it is GNU's, of this version or a later one.
fn is_gnu_since(said: &str, version: [u32; 2]) -> bool {
    let first = said.lines().next().unwrap_or_default();
    let numbers = first.rsplit(' ').next().unwrap_or_default().split(['.', '-']);
    let found: Vec<u32> = numbers.map_while(|number| number.parse().ok()).take(2).collect();
    first.starts_with("GNU assembler") && found.as_slice() >= version.as_slice()
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_name() {
        let family = |name: &str| family_of_name(OsStr::new(name));
        assert_eq!(family("/usr/bin/x86_64-linux-gnu-gcc-12"), Some(Family::Gcc));
        assert_eq!(family("g++"), Some(Family::Gcc));
        assert_eq!(family("clang++-19"), Some(Family::Clang));
        assert_eq!(family("cc"), None);
    }

    #[test]
    fn an_assembler_says_its_version() {
        let since = |said: &str| is_gnu_since(said, [2, 36]);
        assert!(since("GNU assembler (GNU Binutils for Debian) 2.40\nCopyright"));
        assert!(since("GNU assembler version 2.41-37.fc40"));
        assert!(!since("GNU assembler (GNU Binutils for Ubuntu) 2.34"));
        assert!(!since("clang version 14.0.6") && !since(""));
    }

    #[test]
    fn a_program_without_a_telling_name_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("cc");
        std::fs::write(&script, "#!/bin/sh\necho 'Some clang version 14'\n").unwrap();
        make_executable(&script);
        assert_eq!(family_of(&script, &[]), Family::Clang);
    }

    #[test]
    fn a_link_to_ourselves_is_no_compiler() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("foretell");
        std::fs::write(&own, "").unwrap();
        let own = own.canonicalize().unwrap();
        std::os::unix::fs::symlink(&own, directory.path().join("cc")).unwrap();
        let path = directory.path().as_os_str();
        assert_eq!(in_path(path, "cc", Some(&own)), None);
        assert_eq!(in_path(path, "cc", None), Some(directory.path().join("cc")));
    }

    fn make_executable(path: &Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}
