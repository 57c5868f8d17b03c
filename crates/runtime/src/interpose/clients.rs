//! Connections that the program has accepted, if it is a server that the launcher drives: what comes through them is logged
//! ([`crate::client_log`]). Those that the program itself makes are not a client's.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use wire::{ClientRecord, Endpoint};

use super::passages::{address_of, connection};
use crate::client_log;
use crate::inside::{Inside, enter};
use crate::sys;

/// How a thread takes what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// It is gone then.
    Takes,
    /// It stays.
    Peeks,
    /// It is thrown away, or is not in the order in which it came.
    Otherwise,
    /// It is a connection.
    Accepts,
}

impl Taking {
    pub(super) fn with(flags: c_int) -> Taking {
        if flags & libc::MSG_PEEK != 0 {
            Taking::Peeks
        } else if flags & (libc::MSG_TRUNC | libc::MSG_OOB) != 0 {
            Taking::Otherwise
        } else {
            Taking::Takes
        }
    }
}

/// The connections, by descriptor, counted from 1; 0: none.
const MOST_FILES: usize = 4096;
static FILES: [AtomicU32; MOST_FILES] = [const { AtomicU32::new(0) }; MOST_FILES];
/// How many connections were accepted.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// What the last connections that were accepted are known by at both ends, by their numbers; 0: nothing is known.
const REMEMBERED: usize = 1024;
static ACCEPTED: [AtomicU64; REMEMBERED] = [const { AtomicU64::new(0) }; REMEMBERED];
/// The same of the last that the program has made.
static MADE: [AtomicU64; REMEMBERED] = [const { AtomicU64::new(0) }; REMEMBERED];
static MADE_COUNT: AtomicUsize = AtomicUsize::new(0);

fn place(file: c_int) -> Option<&'static AtomicU32> {
    usize::try_from(file).ok().and_then(|file| FILES.get(file))
}

/// The number of the connection that a descriptor stands for.
fn known(file: c_int) -> Option<u32> {
    if !client_log::is_open() {
        return None;
    }
    place(file)?.load(Ordering::Relaxed).checked_sub(1)
}

fn error() -> c_int {
    // SAFETY: the thread's own error number.
    unsafe { *libc::__errno_location() }
}

fn log(record: &ClientRecord<'_>) {
    match enter() {
        Some(inside) => client_log::write(&inside, record),
        // A child of the program that nobody records.
        None if !client_log::is_own_process() => client_log::note_missing(),
        None => {}
    }
}

/// `accept` has returned this.
pub(super) fn accepted(new: c_int) {
    if !client_log::is_open() {
        return;
    }
    if new < 0 {
        if matches!(error(), libc::EAGAIN) {
            log(&ClientRecord::NoneToAccept);
        }
        return;
    }
    let both_ends = connection(new);
    if is_own(new, both_ends) {
        return;
    }
    let mut name = [0; MOST_NAME];
    match (place(new), endpoint(new, &mut name)) {
        (Some(place), Some(endpoint)) => {
            let connection = COUNT.fetch_add(1, Ordering::Relaxed);
            ACCEPTED[connection as usize % REMEMBERED].store(both_ends.unwrap_or(0), Ordering::Relaxed);
            place.store(connection + 1, Ordering::Relaxed);
            log(&ClientRecord::Accepted { connection, endpoint });
        }
        _ => client_log::note_missing(),
    }
}

/// Whether the program has made the connection itself.
fn is_own(file: c_int, both_ends: Option<u64>) -> bool {
    let Some(number) = both_ends else { return peer_is_this_process(file) };
    let made = MADE.iter().find(|made| made.load(Ordering::Relaxed) == number);
    made.is_some_and(|made| {
        // Another one may come to the same number later.
        made.store(0, Ordering::Relaxed);
        true
    })
}

/// Whether this process has made a connection with a name.
fn peer_is_this_process(file: c_int) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as u32;
    let (peer_at, length_at) = ((&raw mut peer) as usize, (&raw mut length) as usize);
    let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_PEERCRED as usize);
    // SAFETY: the kernel writes into what we own.
    let failed =
        unsafe { sys::call(libc::SYS_getsockopt, [file as usize, level, name, peer_at, length_at, 0]) != 0 };
    !failed && peer.pid as u32 == sys::getpid()
}

/// The program has connected this socket, or has begun to: if the other end is accepted already, it was not a client's.
pub(super) fn connected(file: c_int) {
    if !client_log::is_open() {
        return;
    }
    let Some(number) = connection(file) else { return };
    let count = COUNT.load(Ordering::Relaxed);
    for connection in count.saturating_sub(REMEMBERED as u32)..count {
        let accepted = &ACCEPTED[connection as usize % REMEMBERED];
        if accepted.load(Ordering::Relaxed) == number {
            accepted.store(0, Ordering::Relaxed);
            return log(&ClientRecord::Own { connection });
        }
    }
    let index = MADE_COUNT.fetch_add(1, Ordering::Relaxed) % REMEMBERED;
    MADE[index].store(number, Ordering::Relaxed);
}

/// The longest name of a socket.
const MOST_NAME: usize = 108;

/// What an accepted socket was connected to. None: it cannot be named.
fn endpoint(file: c_int, name: &mut [u8; MOST_NAME]) -> Option<Endpoint<'_>> {
    let (own, length) = address_of(file, libc::SYS_getsockname)?;
    match c_int::from(own.ss_family) {
        libc::AF_INET | libc::AF_INET6 => {
            let client = address_of(file, libc::SYS_getpeername).map_or(0, |(peer, _)| port(&peer));
            Some(Endpoint::Port { client, server: port(&own) })
        }
        libc::AF_UNIX => {
            // SAFETY: the family says which address it is, and zero bytes are a part of one.
            let own = unsafe { &*(&raw const own).cast::<libc::sockaddr_un>() };
            let length = (length as usize).saturating_sub(size_of::<libc::sa_family_t>()).min(MOST_NAME);
            for (to, from) in name.iter_mut().zip(&own.sun_path[..length]) {
                *to = *from as u8;
            }
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(MOST_NAME);
            (end > 0).then(|| Endpoint::Named(&name[..end]))
        }
        _ => None,
    }
}

/// The port of an address of the internet: it is in the same place in both kinds.
fn port(address: &libc::sockaddr_storage) -> u16 {
    // SAFETY: both kinds of addresses are smaller than the storage, and have the port here.
    let address = unsafe { &*(&raw const *address).cast::<libc::sockaddr_in>() };
    u16::from_be(address.sin_port)
}

/// A call that takes what came through a file, into these ranges, has received this number of bytes.
pub(super) fn received(file: c_int, taking: Taking, into: &[(u64, usize)], result: usize) {
    let Some(connection) = known(file) else { return };
    let room: usize = into.iter().map(|(_, length)| length).sum();
    match taking {
        Taking::Peeks | Taking::Accepts => return,
        Taking::Takes if result == 0 && room > 0 => return log(&ClientRecord::Ended { connection }),
        Taking::Takes if result <= room => {}
        Taking::Takes | Taking::Otherwise => return client_log::note_missing(),
    }
    let mut left = result;
    for &(start, length) in into {
        let length = length.min(left);
        left -= length;
        if length > 0 {
            // SAFETY: the kernel has just filled these bytes, by the contract of the call.
            let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, length) };
            log(&ClientRecord::Received { connection, filled: left > 0 || result == room, bytes });
        }
    }
}

/// How many questions were asked.
static QUESTIONS: AtomicU32 = AtomicU32::new(0);
/// How long an answer may take, and how often it is looked for, in nanoseconds.
const LONGEST_QUESTION: u64 = 2_000_000_000;
const LOOK: u64 = 200_000;

/// A question to the launcher, by its number: whether there was something here when the recorded run looked.
pub(super) struct Question(u32);

impl Question {
    /// Asks before a call that would find nothing, if the launcher is the client.
    pub(super) fn ask(inside: &Inside, file: c_int, taking: Taking) -> Option<Question> {
        if !client_log::has_answers() {
            return None;
        }
        let record = match taking {
            Taking::Accepts => ClientRecord::AsksForAny,
            _ => ClientRecord::Asks { connection: known(file)? },
        };
        client_log::write(inside, &record);
        Some(Question(QUESTIONS.fetch_add(1, Ordering::Relaxed) + 1))
    }

    /// Waits for the answer, without the token.
    pub(super) fn wait(self) {
        let since = sys::now(libc::CLOCK_MONOTONIC);
        while client_log::answered() < self.0 && sys::now(libc::CLOCK_MONOTONIC) - since < LONGEST_QUESTION {
            sys::sleep(LOOK);
        }
    }
}

/// Such a call has failed.
pub(super) fn received_nothing(file: c_int, taking: Taking) {
    let Some(connection) = known(file) else { return };
    match error() {
        libc::EAGAIN if taking == Taking::Takes => log(&ClientRecord::Empty { connection }),
        libc::ECONNRESET => log(&ClientRecord::Ended { connection }),
        _ => {}
    }
}

/// Such a call is made by a process that is not recorded.
pub(super) fn unseen(file: c_int) {
    if known(file).is_some() && !client_log::is_own_process() {
        client_log::note_missing();
    }
}

/// A call that sends something through a file has returned this.
pub(super) fn sent(file: c_int, result: isize) {
    if let (Some(connection), 1..) = (known(file), result) {
        log(&ClientRecord::Sent { connection, bytes: result as u64 });
    }
}

/// A descriptor is about to be closed.
pub(super) fn closing(file: c_int) {
    let Some(connection) = known(file) else { return };
    place(file).into_iter().for_each(|place| place.store(0, Ordering::Relaxed));
    let is_it = |place: &AtomicU32| place.load(Ordering::Relaxed) == connection + 1;
    if !FILES.iter().any(is_it) {
        log(&ClientRecord::Closed { connection });
    }
}

/// Another descriptor stands for the same file.
pub(super) fn copied(file: c_int, copy: c_int) {
    if let (Some(connection), true) = (known(file), copy >= 0) {
        match place(copy) {
            Some(place) => place.store(connection + 1, Ordering::Relaxed),
            None => client_log::note_missing(),
        }
    }
}
