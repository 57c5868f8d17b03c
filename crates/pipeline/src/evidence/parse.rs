//! Evidence from its bytes, with errors that point at what is wrong.

use std::io::Read;
use std::ops::Range;

use report::{Evidence, EvidenceError, ScheduleFile, ScheduleFileError};
use trace::open::decode;

use super::EvidenceFile;
use crate::budget::{Bounds, ensure_within};
use crate::error::{Error, ErrorKind, Excerpt, SourcePosition};

/// The largest file that is read, in bytes without compression.
const LARGEST: u64 = 1 << 30;
/// So much of a file says whether it is evidence at all.
const START: u64 = 1 << 16;
/// So much is read before looking at the time and the memory.
const PART: u64 = 1 << 20;

impl EvidenceFile {
    /// Reads evidence, which may be compressed. `name` is what the user calls it.
    pub fn read(name: &str, input: impl Read, bounds: Bounds) -> Result<EvidenceFile, Error> {
        let bytes = content(name, input, is_evidence, bounds)?.ok_or_else(|| not_evidence(name))?;
        EvidenceFile::parse(name, &bytes, bounds)
    }

    fn parse(name: &str, bytes: &[u8], bounds: Bounds) -> Result<EvidenceFile, Error> {
        let name = name.to_owned();
        if ScheduleFile::is_one(bytes) {
            let file = schedule(&name, bytes, bounds)?.map_err(|error| wrong_line(&name, bytes, &error))?;
            return Ok(EvidenceFile {
                name,
                evidence: file.clone().into_evidence(),
                schedule_file: Some(file),
            });
        }
        let evidence = Evidence::parse(bytes).map_err(|error| wrong_json(&name, bytes, &error))?;
        Ok(EvidenceFile { name, evidence, schedule_file: None })
    }
}

/// A schedule file, or what is wrong with it.
pub(crate) fn schedule(
    name: &str,
    bytes: &[u8],
    bounds: Bounds,
) -> Result<Result<ScheduleFile, ScheduleFileError>, Error> {
    let file = ScheduleFile::parse_while(bytes, || !bounds.are_final());
    ensure_read(name, bounds)?;
    Ok(file)
}

/// What is read when the bounds are reached is not whole.
fn ensure_read(name: &str, bounds: Bounds) -> Result<(), Error> {
    ensure_within(bounds).map_err(|error| error.in_file(name).note("the file was not read to its end"))
}

/// The content of a file, which may be compressed and may then be much larger than it looks; none if it does not start as it should.
pub(crate) fn content(
    name: &str,
    input: impl Read,
    starts_well: fn(&[u8]) -> bool,
    bounds: Bounds,
) -> Result<Option<Vec<u8>>, Error> {
    let cannot = |error| Error::io("read", format!("`{name}`"), error);
    let mut bytes = Vec::new();
    let mut decoded = decode(input).map_err(cannot)?;
    decoded.by_ref().take(START).read_to_end(&mut bytes).map_err(cannot)?;
    if !starts_well(&bytes) {
        return Ok(None);
    }
    while decoded.by_ref().take(PART).read_to_end(&mut bytes).map_err(cannot)? > 0 {
        ensure_read(name, bounds)?;
        if bytes.len() as u64 > LARGEST {
            break;
        }
    }
    if bytes.len() as u64 > LARGEST {
        return Err(ErrorKind::LargeEvidence(name.to_owned()).into());
    }
    Ok(Some(bytes))
}

/// Whether a file that starts so can be evidence.
fn is_evidence(start: &[u8]) -> bool {
    ScheduleFile::is_one(start) || start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

fn not_evidence(name: &str) -> Error {
    Error::from(ErrorKind::NotEvidence)
        .in_file(name)
        .help("`foretell decide` writes evidence with `--json` or `--schedule-out FILE`")
}

fn wrong_line(name: &str, bytes: &[u8], error: &ScheduleFileError) -> Error {
    let line = bytes.split(|&byte| byte == b'\n').nth(error.line - 1).unwrap_or_default();
    at(name, error.line, line, 0..line.len(), error.problem.to_string())
        .help("docs/schedule-format.md describes schedule files")
}

fn wrong_json(name: &str, bytes: &[u8], error: &EvidenceError) -> Error {
    let help = "docs/json.md describes the output of `foretell decide --json`";
    match error {
        EvidenceError::Json { line, column, message } => {
            let text = bytes.split(|&byte| byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
            let start = column.saturating_sub(1);
            at(name, *line, text, start..start + 1, message.clone()).help(help)
        }
        EvidenceError::Schema(_) => {
            Error::from(ErrorKind::MalformedEvidence(error.to_string())).in_file(name).help(help)
        }
    }
}

/// Points at bytes of a line. Of a line too long for an excerpt only the surroundings are shown.
fn at(name: &str, number: usize, line: &[u8], span: Range<usize>, message: String) -> Error {
    const LONGEST: usize = 1 << 16;
    const AROUND: usize = 60;
    let start = if line.len() <= LONGEST { 0 } else { span.start.min(line.len()).saturating_sub(AROUND) };
    let end = if line.len() <= LONGEST { line.len() } else { (start + 2 * AROUND).min(line.len()) };
    // One character a byte, so that the span stays where it is, and none that could upset a terminal.
    let printable = |&byte: &u8| if byte.is_ascii() && !byte.is_ascii_control() { byte as char } else { '?' };
    let text: String = line[start..end].iter().map(printable).collect();
    let shown = span.start.saturating_sub(start)..span.end.saturating_sub(start);
    let excerpt = Excerpt { text, span: shown, label: String::new() };
    let place = SourcePosition { file: name.to_owned(), line: Some(number.max(1)), excerpt: Some(excerpt) };
    let error = Error::from(ErrorKind::MalformedEvidence(message)).at(place);
    match start {
        0 => error,
        _ => error.note(format!("this is around column {} of a long line", span.start + 1)),
    }
}
