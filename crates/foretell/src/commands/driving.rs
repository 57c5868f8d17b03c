//! `--drive` and `--ready`: a client for a server.

use std::ffi::OsString;

use clap::Args;
use run::drive::{Drive, Ready};

/// A client that is started with every run of a server.
#[derive(Clone, Debug, Args)]
pub(super) struct Driving {
    /// The program is a server: run this client, a line for the shell, in every run, and end the server (SIGTERM) when the client is
    /// done. Empty: there is none.
    #[arg(long, value_name = "CMD")]
    drive: Option<OsString>,
    /// Start the client when the server has printed something that this regular expression matches, or, for :PORT, when that TCP port
    /// is open [default: when the server listens on any socket]. `record` leaves the output alone, so it takes no REGEX.
    #[arg(long, value_name = "REGEX", value_parser = Ready::parse, requires = "drive")]
    ready: Option<Ready>,
}

impl Driving {
    /// The client, if there is one.
    pub(super) fn drive(&self) -> Option<Drive> {
        let client = self.drive.clone().filter(|client| !client.is_empty())?;
        Some(Drive { client, ready: self.ready.clone().unwrap_or_default() })
    }
}
