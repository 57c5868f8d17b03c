//! Loading the trace that an argument names, with its progress shown.

use std::ffi::OsStr;

use pipeline::TraceFile;

use crate::arguments::Manner;
use crate::diagnostics::Diagnostic;
use crate::observer::TerminalObserver;

/// Loads a trace; `-` is standard input. Warns about one that is empty or ends early.
pub fn open(argument: &OsStr, manner: Manner) -> Result<TraceFile, Diagnostic> {
    Ok(TraceFile::open(argument, &mut TerminalObserver::new(manner))?)
}
