//! `--drive` and `--ready`: a client for a server.

use std::ffi::OsString;

use clap::Args;
use clap::ValueEnum;
use pipeline::client_input::ClientInput;
use run::drive::{Client, Drive, Ready};

/// A client for a server.
#[derive(Clone, Debug, Args)]
pub(super) struct Driving {
    /// The program is a server: run this client, a line for the shell, with it, and end the server (SIGTERM) when the client is done.
    /// Empty: there is none.
    #[arg(long, value_name = "CMD")]
    drive: Option<OsString>,
    /// Start the client when the server has printed something that this regular expression matches, or, for :PORT, when that TCP port
    /// is open [default: when the server listens on any socket].
    #[arg(long, value_name = "REGEX", value_parser = Ready::parse, requires = "drive")]
    ready: Option<Ready>,
}

impl Driving {
    /// The client, if there is one.
    pub(super) fn drive(&self) -> Option<Drive> {
        let client = self.drive.clone().filter(|client| !client.is_empty())?;
        Some(Drive { client: Client::Command(client), ready: self.ready.clone().unwrap_or_default() })
    }
}

/// `--client-input`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReplayedClient {
    /// Send what the client sent.
    Recorded,
    /// Run the client again.
    Live,
}

impl From<ReplayedClient> for ClientInput {
    fn from(client: ReplayedClient) -> ClientInput {
        match client {
            ReplayedClient::Recorded => ClientInput::Recorded,
            ReplayedClient::Live => ClientInput::Live,
        }
    }
}
