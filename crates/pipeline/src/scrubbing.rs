//! Traces without the values of their environment: for those that were recorded with them, or by a version that always kept them.

use std::ffi::OsStr;
use std::path::Path;

use trace::native::{self, ScrubError};
use trace::open::{FileContent, SNIFF_LENGTH, sniff};

use crate::budget::{BoundedWriter, Bounds, ensure_within};
use crate::error::{Error, ErrorKind};
use crate::files::{self, Form};

/// Writes a trace again, to this file or in its own place, with names and lengths instead of values; how many values there were.
pub fn scrub(trace: &OsStr, to: Option<&Path>, bounds: Bounds) -> Result<usize, Error> {
    let path = Path::new(trace);
    let name = path.display().to_string();
    let bytes =
        run::mapping::map_file(path).map_err(|error| Error::io("read", format!("`{name}`"), error))?;
    if sniff(&bytes[..bytes.len().min(SNIFF_LENGTH)]) != FileContent::Native {
        let error =
            ErrorKind::MalformedTrace("this is not a native trace, so there is nothing to scrub".into());
        let help = "text traces have no environment; decompress a native trace first";
        return Err(Error::from(error).in_file(name).help(help));
    }
    let written = files::write(to.unwrap_or(path), Form::Native, |out| {
        match native::scrub(&bytes, BoundedWriter { inner: out, bounds }) {
            Ok(scrubbed) => Ok(scrubbed),
            Err(ScrubError::Write(error)) => Err(error),
            Err(ScrubError::Read(error)) => {
                Err(std::io::Error::other(format!("at byte {}: {}", error.offset, error.problem)))
            }
        }
    });
    written.or_else(|failed| ensure_within(bounds).and(Err(failed)))
}
