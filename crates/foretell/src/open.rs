//! Loading the trace that an argument names, with its progress shown.

use std::ffi::OsStr;

use clap::Args;
use pipeline::{Bounds, TraceFile};
use trace::text::{ReadOptions, WaitConvention};

use crate::arguments::one_of;
use crate::diagnostics::Diagnostic;
use crate::mode::OutputMode;
use crate::observer::TerminalObserver;

/// How text traces of other tools are read: the same options for all commands that read them.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Reading {
    /// Leave out events that cannot have happened where they stand; what is found is then only `possible`.
    #[arg(long)]
    lenient: bool,
    /// What `wait` means in a text trace: waiting `begins`, or the thread was `woken` (detected by default).
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    #[arg(value_parser = one_of(&WaitConvention::STATED, WaitConvention::name))]
    wait: Option<WaitConvention>,
}

impl Reading {
    fn options(self) -> ReadOptions {
        ReadOptions { wait: self.wait.unwrap_or_default(), lenient: self.lenient, ..ReadOptions::default() }
    }
}

/// Loads a trace; `-` is standard input. Warns about one that is empty or ends early.
pub fn open(argument: &OsStr, mode: OutputMode) -> Result<TraceFile, Diagnostic> {
    open_within(argument, Bounds::NONE, mode)
}

/// Loads a trace, unless it takes more time or memory than there is.
pub fn open_within(argument: &OsStr, bounds: Bounds, mode: OutputMode) -> Result<TraceFile, Diagnostic> {
    open_as(argument, Reading::default(), bounds, mode)
}

/// The same for text that is to be read in a certain way.
pub fn open_as(
    argument: &OsStr,
    reading: Reading,
    bounds: Bounds,
    mode: OutputMode,
) -> Result<TraceFile, Diagnostic> {
    Ok(TraceFile::open_as(argument, reading.options(), bounds, &mut TerminalObserver::new(mode))?)
}
