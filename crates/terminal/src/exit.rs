//! The exit status: a contract other programs rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did its work and found nothing wrong: 0.
    Nothing,
    /// It found something: 1.
    Findings,
    /// It was asked for something impossible, or its input is at fault: 2.
    Mistake,
    /// A budget ran out before the answer: 3.
    Budget,
    /// It found something, and the user chose the status for that.
    Chosen(u8),
    /// It ran a program that ended with this status, and passes it on.
    Program(u8),
}

impl Exit {
    /// What `--help` says of it.
    pub const HELP: &str =
        "Exit status: 0 nothing found, 1 findings, 2 usage or input error, 3 a budget ran out.";
}

impl Exit {
    /// Its number.
    pub fn status(self) -> u8 {
        match self {
            Exit::Nothing => 0,
            Exit::Findings => 1,
            Exit::Mistake => 2,
            Exit::Budget => 3,
            Exit::Chosen(status) | Exit::Program(status) => status,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.status())
    }
}
