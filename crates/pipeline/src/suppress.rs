//! Suppressions: findings that the user does not want to see.

use std::path::Path;

use report::{Contexts, Finding, ReportFlag, Suppressions};

use crate::error::{Error, ErrorKind, Excerpt, SourcePosition};
use crate::observer::Observer;

/// The most unused suppressions that are listed by name.
const LISTED: usize = 20;

/// Where suppressions are that the program brings along.
const OF_THE_PROGRAM: &str = "__tsan_default_suppressions";

/// What a user does not want to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwanted<'a> {
    /// Files of suppressions.
    pub files: &'a [std::path::PathBuf],
    /// Kinds of reports that are turned off.
    pub off: &'a [ReportFlag],
}

/// Takes the findings out that are not wanted, or that the program itself suppresses; how many there were. Warns about suppressions of
/// the files that no finding falls under.
pub fn suppress(
    contexts: &Contexts<'_>,
    unwanted: Unwanted<'_>,
    findings: &mut Vec<Finding>,
    observer: &mut dyn Observer,
) -> Result<u64, Error> {
    let before = findings.len();
    let is_off =
        |finding: &Finding| unwanted.off.iter().any(|flag| flag.covers(contexts.of(finding), finding));
    findings.retain(|finding| !is_off(finding));
    for file in unwanted.files {
        let suppressions = read(file)?;
        let used = apply(&suppressions, contexts, findings);
        let unused: Vec<_> = suppressions.entries.iter().zip(&used).filter(|(_, used)| !**used).collect();
        if !unused.is_empty() {
            let warning = Error::from(ErrorKind::UnusedSuppressions(unused.len()));
            let mut warning = warning.in_file(file.display().to_string());
            for (entry, _) in unused.iter().take(LISTED) {
                warning = warning.note(format!("line {}: {}", entry.line, entry.text));
            }
            observer.warning(warning);
        }
    }
    // These are not the user's own affair: what matches nothing is not mentioned, and a mistake does not cost the report.
    match parse(&contexts.own.trace.metadata().tsan_suppressions, OF_THE_PROGRAM) {
        Ok(suppressions) => drop(apply(&suppressions, contexts, findings)),
        Err(error) => observer.warning(error),
    }
    Ok((before - findings.len()) as u64)
}

/// Takes out what falls under suppressions; which of them were of use.
fn apply(suppressions: &Suppressions, contexts: &Contexts<'_>, findings: &mut Vec<Finding>) -> Vec<bool> {
    let mut used = vec![false; suppressions.entries.len()];
    findings.retain(|finding| match suppressions.matching(contexts.of(finding), finding) {
        Some(entry) => {
            used[entry] = true;
            false
        }
        None => true,
    });
    used
}

fn read(file: &Path) -> Result<Suppressions, Error> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| Error::io("read", format!("`{name}`"), error))?;
    parse(&String::from_utf8_lossy(&bytes), &name)
}

fn parse(text: &str, name: &str) -> Result<Suppressions, Error> {
    Suppressions::parse(text).map_err(|error| {
        let message = error.to_string();
        let (title, help) = match message.split_once("; ") {
            Some((title, help)) => (title, Some(help)),
            None => (&*message, None),
        };
        let line = text.lines().nth(error.line - 1).unwrap_or_default().to_owned();
        let excerpt = Excerpt { span: 0..line.len(), text: line, label: String::new() };
        let place = SourcePosition { file: name.to_owned(), line: Some(error.line), excerpt: Some(excerpt) };
        Error::from(ErrorKind::Suppression(title.to_owned())).at(place).help_if(help)
    })
}
