//! Findings that the user does not want to be told of.

use std::path::Path;

use report::{Contexts, Finding, Suppressions};

use crate::diagnostics::{Diagnostic, Excerpt, Place};

/// So many unused suppressions are listed by name.
const LISTED: usize = 20;

/// Takes the findings out that fall under a suppression; how many there were. Entries that no finding falls under are told.
pub(super) fn silence(
    contexts: &Contexts<'_>,
    files: &[std::path::PathBuf],
    findings: &mut Vec<Finding>,
) -> Result<u64, Diagnostic> {
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
            let title = match unused.len() {
                1 => "a suppression matched nothing".to_owned(),
                many => format!("{many} suppressions matched nothing"),
            };
            let mut warning = Diagnostic::new(title).in_file(file.display().to_string());
            for (entry, _) in unused.iter().take(LISTED) {
                warning = warning.note(format!("line {}: {}", entry.line, entry.text));
            }
            warning.print_warning();
        }
    }
    Ok((before - findings.len()) as u64)
}

fn read(file: &Path) -> Result<Suppressions, Diagnostic> {
    let name = file.display().to_string();
    let bytes =
        std::fs::read(file).map_err(|error| Diagnostic::from_io("read", &format!("`{name}`"), &error))?;
    let text = String::from_utf8_lossy(&bytes);
    Suppressions::parse(&text).map_err(|error| {
        let message = error.to_string();
        let (title, help) = message.split_once("; ").unwrap_or((&message, ""));
        let line = text.lines().nth(error.line - 1).unwrap_or_default().to_owned();
        let excerpt = Excerpt { span: 0..line.len(), text: line, label: String::new() };
        let place = Place { file: name, line: Some(error.line), excerpt: Some(excerpt) };
        let diagnostic = Diagnostic::new(title).at(place);
        if help.is_empty() { diagnostic } else { diagnostic.help(help) }
    })
}
