//! In place of a client: opens the connections of a script, sends what it says when it is time ([`Pace`]), and drops what comes back.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wire::{OUTCOME_RECORD, OutcomeRecord, Progress};

use super::client_file::ClientFile;
use super::listening::{Server, find, listens};
use super::pace::{Due, Hearing, Pace};
use super::script::Script;

/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(1);
/// A program that has used more than this share of the time since it was last looked at is busy, whatever it does.
const BUSY: u32 = 4;
/// How often it is looked whether it is.
const SAMPLE: Duration = Duration::from_millis(40);
/// The kernel counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// A program that does nothing for so long, though it has something to receive, waits for nobody but itself.
const STUCK: Duration = Duration::from_millis(300);
/// A program that follows a schedule and does nothing for so long waits for its end: most limits of time are over by then.
const OVER: Duration = Duration::from_millis(1100);
/// The same if it has not received everything.
const CERTAINLY_OVER: Duration = Duration::from_secs(3);

/// What there is to do for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// More.
    Goes,
    /// Nothing: the server may end.
    Done,
}

/// A client that follows a script.
#[derive(Debug)]
pub(super) struct Feeder {
    pace: Pace,
    /// What the program says.
    file: Option<ClientFile>,
    activity: Activity,
    connections: Vec<Connection>,
    has_said_waiting: bool,
    answered: u32,
}

#[derive(Debug)]
struct Connection {
    socket: Option<Socket>,
    /// What is still to be sent.
    unsent: VecDeque<Range<usize>>,
    /// Nothing comes after that.
    ends: bool,
}

#[derive(Debug)]
enum Socket {
    Internet(TcpStream),
    Named(UnixStream),
}

impl Feeder {
    /// A client for a program that runs in this directory of ours.
    pub(super) fn new(script: Script, file: Option<ClientFile>, directory: PathBuf) -> Feeder {
        let hearing = if file.is_some() { Hearing::Hears } else { Hearing::Deaf };
        Feeder {
            pace: Pace::new(script, hearing, Instant::now()),
            file,
            activity: Activity::new(directory),
            connections: Vec::new(),
            has_said_waiting: false,
            answered: 0,
        }
    }

    /// Looks on while the server is not ready; whether it may be all the same: a schedule may keep it from saying so.
    pub(super) fn wait(&mut self, server: u32) -> io::Result<bool> {
        let now = Instant::now();
        let idle = now.saturating_duration_since(self.activity.still_since(server, now));
        if idle < STUCK {
            return Ok(false);
        }
        if listens(server) {
            return Ok(true);
        }
        self.say_waiting().map(|()| false)
    }

    /// Does all that is due.
    pub(super) fn advance(&mut self, server: u32) -> io::Result<Task> {
        self.hear()?;
        self.listen();
        let still = self.activity.still_since(server, Instant::now());
        if self.activity.is_free() {
            self.pace.set_free();
        }
        while let Some(due) = self.pace.due(Instant::now(), still) {
            match due {
                Due::Connect(number) => self.connect(number, server)?,
                Due::Send(number, range) => self.connections[number].unsent.push_back(range),
                Due::Close(number) => self.connections[number].ends = true,
            }
        }
        for number in 0..self.connections.len() {
            self.send(number);
        }
        self.answer()?;
        self.settle(still)
    }

    /// Takes what the program says.
    fn hear(&mut self) -> io::Result<()> {
        let Feeder { file, pace, .. } = self;
        match file {
            Some(file) => file.take(|record| pace.take(record, Instant::now())),
            None => Ok(()),
        }
    }

    /// Drops what came back.
    fn listen(&mut self) {
        let mut answer = [0; 16 << 10];
        for (number, connection) in self.connections.iter_mut().enumerate() {
            let Some(socket) = &mut connection.socket else { continue };
            loop {
                match socket.read(&mut answer) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Ok(0) | Err(_) => {
                        connection.socket = None;
                        self.pace.closed(number, Instant::now());
                        break;
                    }
                }
            }
        }
    }

    fn connect(&mut self, number: usize, server: u32) -> io::Result<()> {
        let to = &self.pace.script().conversations[number].to;
        let opened = match find(server, to) {
            Some(Server::Internet(address)) => {
                TcpStream::connect_timeout(&address, CONNECTING).and_then(|socket| {
                    socket.set_nonblocking(true)?;
                    socket.set_nodelay(true)?;
                    Ok((socket.local_addr().ok().map(|own| own.port()), Socket::Internet(socket)))
                })
            }
            Some(Server::Named(path)) => UnixStream::connect(path).and_then(|socket| {
                socket.set_nonblocking(true)?;
                Ok((None, Socket::Named(socket)))
            }),
            None => Err(io::Error::from(ErrorKind::NotFound)),
        };
        let (port, socket) = match opened {
            Ok((port, socket)) => (port, Some(socket)),
            // The server does not listen any more, or takes nobody: it goes another way than it went.
            Err(_) => (None, None),
        };
        self.connections.push(Connection { socket, unsent: VecDeque::new(), ends: false });
        match &self.connections[number].socket {
            Some(_) => self.pace.connected(number, port),
            None => self.pace.closed(number, Instant::now()),
        }
        Ok(())
    }

    /// Sends what is to be sent through a connection, as far as it takes it.
    fn send(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        let Some(socket) = &mut connection.socket else { return connection.unsent.clear() };
        while let Some(range) = connection.unsent.front_mut() {
            match socket.write(self.pace.script().sent(range)) {
                Ok(sent) => {
                    range.start += sent;
                    if range.start == range.end {
                        connection.unsent.pop_front();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    connection.socket = None;
                    return self.pace.closed(number, Instant::now());
                }
            }
        }
        if connection.ends {
            connection.socket = None;
        }
    }

    /// What was asked for is sent, or was not there.
    fn answer(&mut self) -> io::Result<()> {
        let questions = self.pace.questions();
        match &self.file {
            Some(file) if questions != self.answered => {
                self.answered = questions;
                file.answer(questions)
            }
            _ => Ok(()),
        }
    }

    /// Whether the client is done, and what the program is to know of that.
    fn settle(&mut self, still: Instant) -> io::Result<Task> {
        let now = Instant::now();
        let is_done = self.pace.is_done(now, still);
        let idle = now.saturating_duration_since(still.max(self.pace.changed()));
        let over = match (is_done, self.activity.is_free()) {
            (true, true) => Duration::ZERO,
            (true, false) | (false, true) => OVER,
            (false, false) => CERTAINLY_OVER,
        };
        let is_over = idle >= over;
        let is_stuck = idle >= if is_done { OVER } else { STUCK };
        if is_stuck {
            self.say_waiting()?;
        }
        Ok(if is_over { Task::Done } else { Task::Goes })
    }

    /// A program that follows a schedule gives up because of this, unless the signal that comes next is what it waits for.
    fn say_waiting(&mut self) -> io::Result<()> {
        let has_said = std::mem::replace(&mut self.has_said_waiting, true);
        match &self.file {
            Some(file) if !has_said => file.say_waiting(),
            _ => Ok(()),
        }
    }

    /// Ends all connections.
    pub(super) fn hang_up(&mut self) {
        self.connections.clear();
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Internet(socket) => socket.read(into),
            Socket::Named(socket) => socket.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Internet(socket) => socket.write(bytes),
            Socket::Named(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a program does something: its log grows, or it uses the processor.
#[derive(Debug)]
struct Activity {
    directory: PathBuf,
    log: Option<File>,
    /// The last that was seen of the log.
    progress: u64,
    still: Instant,
    sampled: Instant,
    used: Duration,
    is_free: bool,
}

impl Activity {
    fn new(directory: PathBuf) -> Activity {
        let now = Instant::now();
        let (progress, used) = (0, Duration::ZERO);
        Activity { directory, log: None, progress, still: now, sampled: now, used, is_free: false }
    }

    /// Since when the program has done nothing.
    fn still_since(&mut self, server: u32, now: Instant) -> Instant {
        let progress = self.read_progress().unwrap_or(0);
        if progress != self.progress {
            (self.progress, self.still) = (progress, now);
        }
        let passed = now.saturating_duration_since(self.sampled);
        if passed >= SAMPLE {
            let used = processor_time(server).unwrap_or_default();
            if used.saturating_sub(self.used) > passed / BUSY {
                self.still = now;
            }
            (self.sampled, self.used) = (now, used);
        }
        self.still
    }

    fn read_progress(&mut self) -> Option<u64> {
        if self.log.is_none() {
            let first = fs::read_to_string(self.directory.join(wire::FIRST_FILE)).ok()?;
            let name = format!("{}.{}", first.trim(), wire::LOG_EXTENSION);
            self.log = File::open(self.directory.join(name)).ok();
        }
        let mut word = [0; 8];
        self.log.as_ref()?.read_exact_at(&mut word, Progress::OFFSET as u64).ok()?;
        Some(u64::from_le_bytes(word))
    }

    /// Whether the program follows no schedule, or not any more.
    fn is_free(&mut self) -> bool {
        if !self.is_free {
            let follows = self.directory.join(wire::CONTROL_FILE).exists();
            let outcome = fs::read(self.directory.join(wire::OUTCOME_FILE)).unwrap_or_default();
            let mut records = outcome.chunks_exact(OUTCOME_RECORD);
            let is_last = |record: &[u8]| {
                let record = record.try_into().ok().and_then(OutcomeRecord::decode);
                matches!(record, Some(OutcomeRecord::Freed | OutcomeRecord::Diverged { .. }))
            };
            self.is_free = !follows || records.any(is_last);
        }
        self.is_free
    }
}

/// The processor time that a process has used.
fn processor_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may have anything in it.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()?.saturating_add(ticks()?)))
}
