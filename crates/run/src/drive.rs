//! Servers: a client that is started with every run, once the server is ready, and a signal that ends the server when the client is done.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use regex::bytes::Regex;
use trace::Ending;

use crate::record::{code, end_with_us};
use crate::signals;

/// How much of a server's output is searched for the line that says it is ready.
const MOST_OUTPUT: usize = 1 << 20;
/// How often it is looked whether a server is ready.
const LOOK: Duration = Duration::from_millis(5);
/// How long a server may take to be ready if its run has no other limit. Recorded programs are slow.
pub(crate) const GETTING_READY: Duration = Duration::from_secs(60);
/// How long a server may take to end after its client.
const GRACE: Duration = Duration::from_secs(2);

/// A client for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The client, as a shell understands it.
    pub client: OsString,
    /// When to start it.
    pub ready: Ready,
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

    /// What has not happened when a server is not ready.
    fn missing(&self) -> String {
        match self {
            Ready::Listening => "it listened on no socket".to_owned(),
            Ready::Port(port) => format!("nobody listened on port {port}"),
            Ready::Printed(pattern) => format!("it printed nothing that matches `{pattern}`"),
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
    /// What both print.
    output: Option<File>,
    state: State,
    looked: Instant,
    /// Until when the server has to be ready.
    until: Option<Instant>,
}

/// How a run with a client ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Driven {
    /// How it ended as a whole.
    pub(crate) ending: Ending,
    /// Why the client was not started, if it was not.
    pub(crate) not_ready: Option<String>,
}

#[derive(Debug)]
enum State {
    /// The server is not ready.
    Waiting,
    /// The client runs.
    Driving(Child),
    /// The client has ended, and the server was asked to.
    Asked { client: ExitStatus, until: Instant },
    /// The server was not ready in time, and was asked to end.
    GivenUp { until: Instant },
}

impl<'d> Driver<'d> {
    /// A driver for a server that was just started. Both print to the same file, if there is one.
    pub(crate) fn new(drive: &'d Drive, output: Option<File>) -> Driver<'d> {
        Driver { drive, output, state: State::Waiting, looked: Instant::now(), until: None }
    }

    /// The same, that ends a server which is not ready after so long.
    pub(crate) fn patient_for(self, time: Duration) -> Driver<'d> {
        Driver { until: Some(Instant::now() + time), ..self }
    }

    /// Does what is next for a server that still runs.
    pub(crate) fn advance(&mut self, server: u32) -> io::Result<()> {
        match &mut self.state {
            State::Waiting if self.looked.elapsed() >= LOOK => {
                self.looked = Instant::now();
                if self.is_ready(server) {
                    self.state = State::Driving(self.start()?);
                } else if self.until.is_some_and(|until| until <= self.looked) {
                    signals::send(server as i32, libc::SIGTERM);
                    self.state = State::GivenUp { until: Instant::now() + GRACE };
                }
            }
            State::Driving(client) => {
                if let Some(client) = client.try_wait()? {
                    signals::send(server as i32, libc::SIGTERM);
                    self.state = State::Asked { client, until: Instant::now() + GRACE };
                }
            }
            State::Asked { until, .. } | State::GivenUp { until } if Instant::now() >= *until => {
                signals::send(server as i32, libc::SIGKILL);
            }
            State::Waiting | State::Asked { .. } | State::GivenUp { .. } => {}
        }
        Ok(())
    }

    fn start(&self) -> io::Result<Child> {
        let mut client = Command::new("/bin/sh");
        client.arg("-c").arg(&self.drive.client).stdin(Stdio::null()).process_group(0);
        end_with_us(&mut client);
        if let Some(output) = &self.output {
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
    pub(crate) fn finish(self, ending: Ending) -> io::Result<Driven> {
        let missing = self.drive.ready.missing();
        let (ending, not_ready) = match self.state {
            State::Driving(mut client) => {
                signals::send(-(client.id() as i32), libc::SIGKILL);
                client.wait()?;
                (ending, None)
            }
            State::Asked { client, .. } => match ending {
                Ending::Exited(0) | Ending::Killed(libc::SIGTERM | libc::SIGKILL) => {
                    (Ending::Exited(i32::from(code(client))), None)
                }
                other => (other, None),
            },
            State::GivenUp { .. } => (Ending::TimedOut, Some(missing)),
            State::Waiting => (ending, Some(missing)),
        };
        Ok(Driven { ending, not_ready })
    }
}

/// Whether a process listens on a socket, of the internet or with a name in the file system.
fn listens(process: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{process}/fd"));
    let links = files.into_iter().flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |link: std::path::PathBuf| {
        let link = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        link.parse::<u64>().ok()
    };
    let own: Vec<u64> = links.filter_map(inode).collect();
    !own.is_empty() && listening().any(|socket| own.contains(&socket.inode))
}

fn is_listened_on(port: u16) -> bool {
    listening().any(|socket| socket.port == Some(port))
}

/// A socket that somebody listens on.
struct Listening {
    inode: u64,
    port: Option<u16>,
}

/// All of them, as the kernel lists them.
fn listening() -> impl Iterator<Item = Listening> {
    let lines = |file: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // State 0A is LISTEN; the local address ends in its port, in hexadecimal.
    let internet = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().flat_map(lines).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let port = u16::from_str_radix(words.get(1)?.rsplit_once(':')?.1, 16).ok();
        let inode = words.get(9)?.parse().ok()?;
        (*words.get(3)? == "0A").then_some(Listening { inode, port })
    });
    // The flag 0x10000 says that it accepts connections.
    let named = lines("/proc/net/unix").into_iter().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(words.get(3)?, 16).ok()?;
        let inode = words.get(6)?.parse().ok()?;
        (flags & 0x1_0000 != 0).then_some(Listening { inode, port: None })
    });
    internet.chain(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listening_socket_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_listened_on(port) && listens(std::process::id()));
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        assert!(!listens(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(listener);
        assert!(!is_listened_on(port));
    }

    #[test]
    fn a_server_that_is_not_ready_in_time_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let drive = Drive { client: "exit 7".into(), ready: Ready::Printed("no such line".to_owned()) };
        let mut driver = Driver::new(&drive, None).patient_for(Duration::from_millis(50));
        let started = Instant::now();
        let status = loop {
            driver.advance(child.id()).unwrap();
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "it is not ended");
            std::thread::sleep(LOOK);
        };
        let driven = driver.finish(crate::record::ending(status, true)).unwrap();
        let not_ready = Some("it printed nothing that matches `no such line`".to_owned());
        assert_eq!(driven, Driven { ending: Ending::TimedOut, not_ready });
    }

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
