//! The exit status: a contract other programs rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did its work and found nothing wrong.
    Nothing = 0,
    /// It found something.
    Findings = 1,
    /// It was asked for something impossible, or its input is at fault.
    Mistake = 2,
    /// A budget ran out before the answer.
    Budget = 3,
}

impl Exit {
    /// What `--help` says of it.
    pub const HELP: &str = "Exit status: 0 nothing found, 1 findings, 2 usage or input error, \
                            3 a budget ran out before the answer.";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
