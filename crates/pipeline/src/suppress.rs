//! Suppressions: findings that the user does not want to see.

use std::path::Path;

use report::{Contexts, Finding, Suppressions};

use crate::error::{Error, ErrorKind, Excerpt, Place};
use crate::observer::Observer;

/// So many unused suppressions are listed by name.
const LISTED: usize = 20;

/// Takes the findings out that fall under a suppression of these files; how many there were. Warns about suppressions that no
/// finding falls under.
pub fn suppress(
    contexts: &Contexts<'_>,
    files: &[std::path::PathBuf],
    findings: &mut Vec<Finding>,
    observer: &mut dyn Observer,
) -> Result<u64, Error> {
    let before = findings.len();
    for file in files {
        let suppressions = read(file)?;
        let mut used = vec![false; suppressions.entries.len()];
        findings.retain(|finding| match suppressions.matching(contexts.of(finding), finding) {
            Some(entry) => {
                used[entry] = true;
                false
            }
            None => true,
        });
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
    Ok((before - findings.len()) as u64)
}

fn read(file: &Path) -> Result<Suppressions, Error> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| Error::io("read", format!("`{name}`"), error))?;
    let text = String::from_utf8_lossy(&bytes);
    Suppressions::parse(&text).map_err(|error| {
        let message = error.to_string();
        let (title, help) = match message.split_once("; ") {
            Some((title, help)) => (title, Some(help)),
            None => (&*message, None),
        };
        let line = text.lines().nth(error.line - 1).unwrap_or_default().to_owned();
        let excerpt = Excerpt { span: 0..line.len(), text: line, label: String::new() };
        let place = Place { file: name, line: Some(error.line), excerpt: Some(excerpt) };
        Error::from(ErrorKind::Suppression(title.to_owned())).at(place).help_if(help)
    })
}
