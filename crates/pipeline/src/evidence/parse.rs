//! The file of evidence: read within bounds, and taken for what its start says it is.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;

use report::{Evidence, EvidenceError, ScheduleFile, ScheduleFileError};
use trace::open::decode;

use crate::diagnostics::{Diagnostic, Excerpt, Place};

/// The largest file that is read, in bytes without compression.
const LARGEST: u64 = 1 << 30;
/// So much of a file says whether it is evidence at all.
const START: u64 = 1 << 16;

/// Evidence, and the schedule file it came as, if it did.
pub(super) struct Read {
    pub(super) evidence: Evidence,
    pub(super) file: Option<ScheduleFile>,
}

/// The file as the user named it.
pub(super) fn named(argument: &OsStr) -> String {
    if argument == "-" { "<stdin>".to_owned() } else { argument.to_string_lossy().into_owned() }
}

/// The bytes of a file or of standard input, without compression.
pub(super) fn read(argument: &OsStr) -> Result<Vec<u8>, Diagnostic> {
    let name = named(argument);
    let cannot = |error: &io::Error| Diagnostic::from_io("read", &format!("`{name}`"), error);
    let input: Box<dyn io::Read> = match argument == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(argument).map_err(|error| cannot(&error))?),
    };
    let mut bytes = Vec::new();
    let mut decoded = decode(input).map_err(|error| cannot(&error))?;
    decoded.by_ref().take(START).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    if !is_evidence(&bytes) {
        return Err(not_evidence(name));
    }
    decoded.take(LARGEST + 1 - START).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Diagnostic::new(format!("cannot read `{name}`: it is larger than 1 GiB")));
    }
    Ok(bytes)
}

/// Whether a file that starts so can be evidence.
fn is_evidence(start: &[u8]) -> bool {
    ScheduleFile::is_one(start) || start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

fn not_evidence(name: String) -> Diagnostic {
    Diagnostic::new("this is not evidence: neither JSON nor a schedule file")
        .in_file(name)
        .help("`foretell decide` writes evidence with `--json` or `--schedule-out FILE`")
}

/// Evidence from its bytes.
pub(super) fn parse(argument: &OsStr, bytes: &[u8]) -> Result<Read, Diagnostic> {
    let name = named(argument);
    if ScheduleFile::is_one(bytes) {
        let file = ScheduleFile::parse(bytes).map_err(|error| wrong_line(&name, bytes, &error))?;
        return Ok(Read { evidence: file.clone().into_evidence(), file: Some(file) });
    }
    if !is_evidence(bytes) {
        return Err(not_evidence(name));
    }
    let evidence = Evidence::parse(bytes).map_err(|error| wrong_json(&name, bytes, &error))?;
    Ok(Read { evidence, file: None })
}

fn wrong_line(name: &str, bytes: &[u8], error: &ScheduleFileError) -> Diagnostic {
    let line = bytes.split(|&byte| byte == b'\n').nth(error.line - 1).unwrap_or_default();
    at(name, error.line, line, 0..line.len(), error.problem.to_string())
        .help("docs/schedule-format.md describes schedule files")
}

fn wrong_json(name: &str, bytes: &[u8], error: &EvidenceError) -> Diagnostic {
    let help = "docs/json.md describes the output of `foretell decide --json`";
    match error {
        EvidenceError::Json { line, column, message } => {
            let text = bytes.split(|&byte| byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
            let start = column.saturating_sub(1);
            at(name, *line, text, start..start + 1, message.clone()).help(help)
        }
        EvidenceError::Schema(_) => Diagnostic::new(error.to_string()).in_file(name).help(help),
    }
}

/// Points at bytes of a line. Of a line too long for an excerpt only the surroundings are shown.
fn at(name: &str, number: usize, line: &[u8], span: Range<usize>, message: String) -> Diagnostic {
    const LONGEST: usize = 1 << 16;
    const AROUND: usize = 60;
    let start = if line.len() <= LONGEST { 0 } else { span.start.min(line.len()).saturating_sub(AROUND) };
    let end = if line.len() <= LONGEST { line.len() } else { (start + 2 * AROUND).min(line.len()) };
    // One character a byte, so that the span stays where it is, and none that could upset a terminal.
    let printable = |&byte: &u8| if byte.is_ascii() && !byte.is_ascii_control() { byte as char } else { '?' };
    let text: String = line[start..end].iter().map(printable).collect();
    let shown = span.start.saturating_sub(start)..span.end.saturating_sub(start);
    let excerpt = Excerpt { text, span: shown, label: String::new() };
    let place = Place { file: name.to_owned(), line: Some(number.max(1)), excerpt: Some(excerpt) };
    let diagnostic = Diagnostic::new(message).at(place);
    match start {
        0 => diagnostic,
        _ => diagnostic.note(format!("this is around column {} of a long line", span.start + 1)),
    }
}
