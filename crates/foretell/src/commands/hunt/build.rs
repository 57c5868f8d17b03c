//! Building a program of one file so that it can be recorded.

use std::ffi::OsString;
use std::path::Path;

use launch::compiler::{self, Extras, Language};

use crate::commands::compile::refusal;
use crate::diagnostics::Diagnostic;

/// A program that is optimised a little is closer to what users run, and its lines are still told apart.
const FLAGS: [&str; 3] = ["-O1", "-g", "-pthread"];

/// Builds a program from its source. What the compiler has to say goes to standard error.
pub(super) fn build(source: &Path, program: &Path, flags: &str) -> Result<(), Diagnostic> {
    let language = language(source)?;
    let mut arguments: Vec<OsString> = FLAGS.map(OsString::from).to_vec();
    arguments.extend([source.into(), "-o".into(), program.into()]);
    arguments.extend(flags.split_whitespace().map(OsString::from));
    let prepared = compiler::prepare(language, Extras::default(), &arguments);
    let mut command = prepared.map_err(|error| refusal(language, &error))?;
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

fn language(source: &Path) -> Result<Language, Diagnostic> {
    match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Ok(Language::C),
        Some("cc" | "cpp" | "cxx" | "C") => Ok(Language::Cpp),
        _ => Err(Diagnostic::new(format!("`{}` is no C or C++ source by its name", source.display()))
            .help("a program that is built already goes after `--`: foretell hunt -- ./program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tells_its_language_by_its_name() {
        assert_eq!(language(Path::new("a/bank.c")).ok(), Some(Language::C));
        assert_eq!(language(Path::new("bank.v2.cpp")).ok(), Some(Language::Cpp));
        assert!(language(Path::new("bank")).is_err());
    }
}
