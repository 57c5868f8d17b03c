//! Loading the trace that an argument names, with its progress shown.

use std::ffi::OsStr;

use pipeline::{Bounds, TraceFile};

use crate::arguments::OutputMode;
use crate::diagnostics::Diagnostic;
use crate::observer::TerminalObserver;

/// Loads a trace; `-` is standard input. Warns about one that is empty or ends early.
pub fn open(argument: &OsStr, mode: OutputMode) -> Result<TraceFile, Diagnostic> {
    open_within(argument, Bounds::NONE, mode)
}

/// Likewise, unless it takes more time or memory than there is.
pub fn open_within(argument: &OsStr, bounds: Bounds, mode: OutputMode) -> Result<TraceFile, Diagnostic> {
    Ok(TraceFile::open_within(argument, bounds, &mut TerminalObserver::new(mode))?)
}
