//! Building a program of one file so that it can be recorded.

use std::ffi::OsString;
use std::path::Path;

use compile::compiler::{self, Extras, Language};

use crate::commands::cargo::no_rust;
use crate::commands::compile::refusal;
use crate::diagnostics::Diagnostic;

/// A program that is optimised a little is closer to what users run, and its lines are still told apart.
const FLAGS: [&str; 3] = ["-O1", "-g", "-pthread"];

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    InC(Language),
    InRust,
}

/// Builds a program from its source. What the compiler has to say goes to standard error.
pub(super) fn build(source: &Path, program: &Path, flags: &str) -> Result<(), Diagnostic> {
    let flags: Vec<OsString> = flags.split_whitespace().map(OsString::from).collect();
    let mut command = match written(source)? {
        Written::InC(language) => {
            let mut arguments: Vec<OsString> = FLAGS.map(OsString::from).to_vec();
            arguments.extend([source.into(), "-o".into(), program.into()]);
            arguments.extend(flags);
            let prepared = compiler::prepare(language, Extras::default(), &arguments);
            prepared.map_err(|error| refusal(language, &error))?
        }
        Written::InRust => compile::rust::rustc(source, program, &flags).map_err(|error| no_rust(&error))?,
    };
    // Standard output is for the report.
    command.stdout(std::io::stderr());
    let status = command.status().map_err(|error| {
        Diagnostic::from_io("run", &format!("`{}`", command.get_program().display()), &error)
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Diagnostic::new(format!("`{}` does not compile", source.display()))),
    }
}

fn written(source: &Path) -> Result<Written, Diagnostic> {
    match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Ok(Written::InC(Language::C)),
        Some("cc" | "cpp" | "cxx" | "C") => Ok(Written::InC(Language::Cpp)),
        Some("rs") => Ok(Written::InRust),
        _ => Err(Diagnostic::new(format!(
            "`{}` does not have the extension of a C, C++ or Rust source file",
            source.display()
        ))
        .help("to hunt in a program that is already built: foretell hunt -- ./program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tells_its_language_by_its_name() {
        assert_eq!(written(Path::new("a/bank.c")).ok(), Some(Written::InC(Language::C)));
        assert_eq!(written(Path::new("bank.v2.cpp")).ok(), Some(Written::InC(Language::Cpp)));
        assert_eq!(written(Path::new("bank.rs")).ok(), Some(Written::InRust));
        assert!(written(Path::new("bank")).is_err());
    }
}
