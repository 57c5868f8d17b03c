//! Building a program of one file so that it can be recorded.

use std::ffi::OsString;
use std::path::Path;

use compile::compiler::{self, Branches, CompilerError, Extras, Language};

use crate::error::{Error, ErrorKind};

/// A program that is optimised a little is closer to what users run, and its lines can still be distinguished.
const FLAGS: [&str; 3] = ["-O1", "-g", "-pthread"];

/// Semaphores, latches and barriers are C++20, which few compilers take by default. A `-std` of the user's comes later and counts.
const CPP_STANDARD: &str = "-std=gnu++20";

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceLanguage {
    InC(Language),
    InRust,
}

/// Builds a program from its source. What the compiler has to say goes to standard error.
pub fn build(source: &Path, program: &Path, flags: &str) -> Result<(), Error> {
    let flags: Vec<OsString> = flags.split_whitespace().map(OsString::from).collect();
    let mut command = match language_of(source)? {
        SourceLanguage::InC(language) => {
            let mut arguments: Vec<OsString> = FLAGS.map(OsString::from).to_vec();
            if language == Language::Cpp {
                arguments.push(CPP_STANDARD.into());
            }
            arguments.extend([source.into(), "-o".into(), program.into()]);
            arguments.extend(flags);
            let extras = Extras { branches: Branches::asked(), ..Extras::default() };
            let prepared = compiler::prepare(language, &extras, &arguments);
            prepared.map_err(|error| refusal(language, error))?
        }
        SourceLanguage::InRust => compile::rust::rustc(source, program, &flags).map_err(no_rust)?,
    };
    // Standard output is for the report.
    command.stdout(std::io::stderr());
    let status = command
        .status()
        .map_err(|error| Error::io("run", format!("`{}`", command.get_program().display()), error))?;
    match status.success() {
        true => Ok(()),
        false => Err(ErrorKind::DoesNotCompile(source.to_owned()).into()),
    }
}

fn language_of(source: &Path) -> Result<SourceLanguage, Error> {
    match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Ok(SourceLanguage::InC(Language::C)),
        Some("cc" | "cpp" | "cxx" | "C") => Ok(SourceLanguage::InC(Language::Cpp)),
        Some("rs") => Ok(SourceLanguage::InRust),
        _ => Err(Error::from(ErrorKind::UnknownLanguage(source.to_owned()))
            .help("to hunt in a program that is already built: foretell hunt -- ./program")),
    }
}

/// Why a program was not compiled, and what to do about it.
pub fn refusal(language: Language, error: CompilerError) -> Error {
    let help = match &error {
        CompilerError::Static(flag) => Some(format!("link without `{flag}`")),
        CompilerError::NoCompiler(_) => Some(format!("install a compiler, or set {}", language.variable())),
        CompilerError::Unpack(_) => Some("set XDG_CACHE_HOME to a writable directory".to_owned()),
        CompilerError::Start { .. } => None,
    };
    Error::from(ErrorKind::from(error)).help_if(help)
}

/// Why Rust programs cannot be built for recording.
pub fn no_rust(error: std::io::Error) -> Error {
    Error::io("prepare", "the recording of Rust programs", error)
        .help("install rustc and its std for x86_64-unknown-linux-gnu, or set RUSTC to another compiler")
        .help("set XDG_CACHE_HOME to a writable directory: the recorder's library is unpacked there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tells_its_language_by_its_name() {
        assert_eq!(language_of(Path::new("a/bank.c")).ok(), Some(SourceLanguage::InC(Language::C)));
        assert_eq!(language_of(Path::new("bank.v2.cpp")).ok(), Some(SourceLanguage::InC(Language::Cpp)));
        assert_eq!(language_of(Path::new("bank.rs")).ok(), Some(SourceLanguage::InRust));
        assert!(language_of(Path::new("bank")).is_err());
    }
}
