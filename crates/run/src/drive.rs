//! Servers: a client that is started with every run, once the server is ready, and a signal that ends the server when the client is done.
//!
//! The client is a command, or what clients sent in a recorded run ([`Script`]): then [`feeder`] sends it again, at the pace of [`pace`].

mod client_file;
mod feeder;
mod listening;
mod pace;
mod script;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use regex::bytes::Regex;
use trace::Ending;

use crate::record::code;
use crate::signals;
use crate::waiting;
pub(crate) use client_file::{ClientFile, content};
use feeder::{Feeder, Task};
use listening::{is_listened_on, listens};
pub use script::{Script, Unusable};

/// How much of a server's output is searched for the line that says it is ready.
const MOST_OUTPUT: usize = 1 << 20;
/// How often it is looked whether a server is ready.
const LOOK: Duration = Duration::from_millis(5);
/// The same while a client of ours talks to it.
const PACE: Duration = Duration::from_millis(1);
/// How long a server may take to end after its client.
const GRACE: Duration = Duration::from_secs(2);

/// A client for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The client.
    pub client: Client,
    /// When to start it.
    pub ready: Ready,
}

/// Who talks to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Client {
    /// A command, as a shell understands it.
    Command(OsString),
    /// What clients sent in another run: a file of its records ([`wire::ClientRecord`]).
    Recorded(PathBuf),
}

/// When a server is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// It listens on a socket.
    #[default]
    Listening,
    /// Somebody listens on this TCP port.
    Port(u16),
    /// It has printed something that this regular expression matches.
    Printed(String),
}

impl Ready {
    /// As it is written: `:8080` is a port, nothing any socket, and all else a regular expression.
    pub fn parse(text: &str) -> Result<Ready, String> {
        if text.is_empty() {
            return Ok(Ready::Listening);
        }
        if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
            return Ok(Ready::Port(port));
        }
        match Regex::new(text) {
            Ok(_) => Ok(Ready::Printed(text.to_owned())),
            Err(error) => Err(error.to_string()),
        }
    }

    /// As it is written.
    pub fn as_text(&self) -> String {
        match self {
            Ready::Listening => String::new(),
            Ready::Port(port) => format!(":{port}"),
            Ready::Printed(pattern) => pattern.clone(),
        }
    }
}

/// The client of a server that runs.
#[derive(Debug)]
pub(crate) struct Driver<'d> {
    drive: &'d Drive,
    /// What the server prints.
    output: Option<File>,
    /// What a client prints that is a command; none: what we print to.
    client_output: Option<File>,
    state: State,
    looked: Instant,
}

#[derive(Debug)]
enum State {
    /// The server is not ready. If we are the client, we wait, too.
    Waiting(Option<Box<Feeder>>),
    /// The client runs.
    Driving(Child),
    /// We are the client.
    Feeding(Box<Feeder>),
    /// The client has ended, in this way if it is a command, and the server was asked to.
    Asked { client: Option<ExitStatus>, until: Instant },
}

impl<'d> Driver<'d> {
    /// A driver for a server that was just started, and what it and a command print to. `directory` is that of the run; `file` is where the
    /// server says what its clients send, if it does.
    pub(crate) fn new(
        drive: &'d Drive,
        output: Option<File>,
        client_output: Option<File>,
        directory: &Path,
        file: Option<ClientFile>,
    ) -> io::Result<Driver<'d>> {
        let feeder = match &drive.client {
            Client::Command(_) => None,
            Client::Recorded(path) => {
                let script = Script::read(&fs::read(path)?)
                    .map_err(|unusable| io::Error::new(io::ErrorKind::InvalidData, unusable.to_string()))?;
                file.as_ref().map_or(Ok(()), ClientFile::offer_answers)?;
                Some(Box::new(Feeder::new(script, file, directory.to_owned())))
            }
        };
        Ok(Driver { drive, output, client_output, state: State::Waiting(feeder), looked: Instant::now() })
    }

    /// Does what is next for a server that still runs.
    pub(crate) fn advance(&mut self, server: u32) -> io::Result<()> {
        let asked = |client| State::Asked { client, until: Instant::now() + GRACE };
        match &mut self.state {
            State::Waiting(feeder) if self.looked.elapsed() >= LOOK => {
                self.looked = Instant::now();
                let mut feeder = feeder.take();
                let may_begin = match &mut feeder {
                    Some(feeder) => self.is_ready(server) || feeder.wait(server)?,
                    None => self.is_ready(server),
                };
                self.state = match (&self.drive.client, feeder) {
                    (_, feeder) if !may_begin => State::Waiting(feeder),
                    (_, Some(feeder)) => State::Feeding(feeder),
                    (Client::Command(command), None) => State::Driving(self.start(command)?),
                    (Client::Recorded(_), None) => State::Waiting(None),
                };
            }
            State::Driving(client) => {
                if let Some(client) = client.try_wait()? {
                    signals::send(server as i32, libc::SIGTERM);
                    self.state = asked(Some(client));
                }
            }
            State::Feeding(feeder) => {
                if feeder.advance(server)? == Task::Done {
                    feeder.hang_up();
                    signals::send(server as i32, libc::SIGTERM);
                    self.state = asked(None);
                }
            }
            State::Asked { until, .. } if Instant::now() >= *until => {
                signals::send(server as i32, libc::SIGKILL);
            }
            State::Waiting(_) | State::Asked { .. } => {}
        }
        Ok(())
    }

    /// When there may be something to do again.
    pub(crate) fn interval(&self) -> Duration {
        match self.state {
            State::Feeding(_) => PACE,
            _ => waiting::LOOK,
        }
    }

    fn start(&self, command: &OsString) -> io::Result<Child> {
        let mut client = Command::new("/bin/sh");
        client.arg("-c").arg(command).stdin(Stdio::null()).process_group(0);
        if let Some(output) = &self.client_output {
            client.stdout(output.try_clone()?).stderr(output.try_clone()?);
        }
        client.spawn()
    }

    fn is_ready(&self, server: u32) -> bool {
        match &self.drive.ready {
            Ready::Listening => listens(server),
            Ready::Port(port) => is_listened_on(*port),
            Ready::Printed(pattern) => self
                .printed()
                .is_some_and(|printed| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&printed))),
        }
    }

    fn printed(&self) -> Option<Vec<u8>> {
        let mut printed = vec![0; MOST_OUTPUT];
        let length = self.output.as_ref()?.read_at(&mut printed, 0).ok()?;
        printed.truncate(length);
        Some(printed)
    }

    /// Ends the client of a server that has ended in this way; how the run as a whole ended: a server that ends because it is asked to has done
    /// its work, and then it is the client that tells whether all went well.
    pub(crate) fn finish(self, ending: Ending) -> io::Result<Ending> {
        match self.state {
            State::Driving(mut client) => {
                signals::send(-(client.id() as i32), libc::SIGKILL);
                client.wait()?;
                Ok(ending)
            }
            State::Asked { client, .. } => Ok(match ending {
                Ending::Exited(0) | Ending::Killed(libc::SIGTERM | libc::SIGKILL) => {
                    Ending::Exited(client.map_or(0, |client| i32::from(code(client))))
                }
                other => other,
            }),
            State::Waiting(_) | State::Feeding(_) => Ok(ending),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ready_means_is_read_as_it_is_written() {
        for (text, ready) in [
            ("", Ready::Listening),
            (":8080", Ready::Port(8080)),
            (":99999", Ready::Printed(":99999".to_owned())),
            ("listening on", Ready::Printed("listening on".to_owned())),
        ] {
            assert_eq!(Ready::parse(text).unwrap().as_text(), text);
            assert_eq!(Ready::parse(text), Ok(ready));
        }
        assert!(Ready::parse("(").is_err());
    }
}
