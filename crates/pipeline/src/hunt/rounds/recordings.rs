//! Recordings of a hunt are opened within its bounds. That there is no time or memory left for one is noted, and is no error: the hunt ends
//! with what it has.

use std::path::Path;

use super::Rounds;
use crate::budget::{Bound, Bounds, stopped_by};
use crate::error::{Error, ErrorKind};
use crate::observer::{Observer, WarningsOnly};
use crate::trace_file::TraceFile;

/// A file of no more bytes is read whatever time it is: it takes less than a second, and may be that of a failure.
const SMALL: u64 = 8 << 20;

/// A recording; none if there is no time or memory for it.
pub(in crate::hunt) fn open_in_time(
    path: &Path,
    bounds: Bounds,
    observer: &mut dyn Observer,
) -> Result<Option<TraceFile>, Error> {
    let is_large = path.metadata().is_ok_and(|facts| facts.len() > SMALL);
    let bounds = if is_large { bounds } else { Bounds::NONE };
    match TraceFile::open_within(path.as_os_str(), bounds, &mut WarningsOnly(observer)) {
        Err(error) if matches!(error.kind(), ErrorKind::OutOfBounds(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

impl Rounds<'_> {
    /// A recording of the hunt; none if there is no time or memory for it, which is noted.
    pub(super) fn open(
        &mut self,
        name: &str,
        observer: &mut dyn Observer,
    ) -> Result<Option<TraceFile>, Error> {
        let bounds = self.options.budget.bounds;
        let opened = open_in_time(&self.directory.recording(name), bounds, observer)?;
        if opened.is_none() {
            let bound = bounds.reached().unwrap_or(Bound::Time);
            self.note_unfinished(Some(stopped_by(bounds, bound)));
        }
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    #[test]
    fn what_there_is_no_memory_for_is_no_error() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("t.std");
        let bounds = Bounds::start(None, Some(4096));
        std::fs::write(&path, "T0|w(x)|1\n").expect("it can be written");
        let small = open_in_time(&path, bounds, &mut Silent).expect("it is a trace");
        assert_eq!(small.map(|file| file.trace.len()), Some(1));
        let events = SMALL as usize / 10 + 1;
        std::fs::write(&path, "T0|w(x)|1\n".repeat(events)).expect("it can be written");
        assert!(open_in_time(&path, bounds, &mut Silent).expect("it is a trace").is_none());
        assert!(open_in_time(&path, Bounds::NONE, &mut Silent).expect("it is a trace").is_some());
        assert!(open_in_time(&directory.path().join("gone"), bounds, &mut Silent).is_err());
    }
}
