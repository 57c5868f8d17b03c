//! Loading the trace that an argument names, with its progress shown.

use std::ffi::OsStr;

use pipeline::TraceFile;

use crate::arguments::OutputMode;
use crate::diagnostics::Diagnostic;
use crate::observer::TerminalObserver;

/// Loads a trace; `-` is standard input. Warns about one that is empty or ends early.
pub fn open(argument: &OsStr, mode: OutputMode) -> Result<TraceFile, Diagnostic> {
    Ok(TraceFile::open(argument, &mut TerminalObserver::new(mode))?)
}
