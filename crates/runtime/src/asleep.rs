//! Whether a thread that sleeps in a system call can be woken by nothing but this process.
//!
//! A replay holds all threads but one. If that one sleeps, and only the others could wake it, the replay cannot go on, and need not wait to find
//! out. The answer is yes only if the call has no time limit, and the process has no child, and no file through which anything outside
//! could reach it: regular files, pipes, pairs of local sockets, event counters and the sets of `epoll` are left. A pipe may lead outside only as
//! standard input. Any doubt means no. Timers are the caller's to ask about.

use crate::settings;
use crate::sys;

/// Room for the contents of a file `syscall`, and for a link of `/proc/self/fd`.
const LENGTH: usize = 256;

/// Whether the thread with this kernel id sleeps until a thread of this process wakes it.
pub(crate) fn waits_for_own_process(kernel_id: u32) -> bool {
    sleeps_without_limit(kernel_id) && has_no_child() && all_files_are_own()
}

/// Whether the system call that the thread sleeps in has no time limit.
fn sleeps_without_limit(kernel_id: u32) -> bool {
    let mut path = [0; 64];
    let path = path_of(&mut path, b"/proc/self/task/", kernel_id, b"/syscall\0");
    let file = sys::open(path, libc::O_RDONLY);
    if file < 0 {
        return false;
    }
    let mut text = [0; LENGTH];
    let length = sys::read_all(file, &mut text);
    sys::close(file);
    SleepingCall::parse(&text[..length]).is_some_and(|call| call.has_no_limit())
}

/// A system call as the kernel tells it: its number in decimal, its arguments in hexadecimal.
struct SleepingCall {
    number: i64,
    arguments: [u64; 6],
}

impl SleepingCall {
    fn parse(text: &[u8]) -> Option<SleepingCall> {
        let mut words = core::str::from_utf8(text).ok()?.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        }
        Some(SleepingCall { number, arguments })
    }

    fn has_no_limit(&self) -> bool {
        /// What a futex is asked for, without the flags.
        const COMMAND: u64 = 0x7f;
        const WAITS: [u64; 3] =
            [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64, libc::FUTEX_LOCK_PI as u64];
        let milliseconds_are_none = |argument: u64| (argument as i32) < 0;
        let arguments = &self.arguments;
        match self.number {
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_accept
            | libc::SYS_accept4 => true,
            libc::SYS_poll => milliseconds_are_none(arguments[2]),
            libc::SYS_ppoll => arguments[2] == 0,
            libc::SYS_select | libc::SYS_pselect6 => arguments[4] == 0,
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => milliseconds_are_none(arguments[3]),
            libc::SYS_epoll_pwait2 => arguments[3] == 0,
            libc::SYS_futex => WAITS.contains(&(arguments[1] & COMMAND)) && arguments[3] == 0,
            _ => false,
        }
    }
}

/// Whether the process has no child.
pub(crate) fn has_no_child() -> bool {
    const ANY: usize = 0;
    let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL) as usize;
    // SAFETY: takes numbers; nothing is written.
    let answer = unsafe { sys::call(libc::SYS_waitid, [ANY, 0, 0, options, 0, 0]) };
    answer == -(libc::ECHILD as isize)
}

/// Whether no open file leads outside.
fn all_files_are_own() -> bool {
    let directory = sys::open(b"/proc/self/fd\0", libc::O_RDONLY | libc::O_DIRECTORY);
    if directory < 0 {
        return false;
    }
    let mut entries = [0u8; 2048];
    let all = loop {
        let place = entries.as_mut_ptr() as usize;
        // SAFETY: the kernel writes into the buffer.
        let got =
            unsafe { sys::call(libc::SYS_getdents64, [directory as usize, place, entries.len(), 0, 0, 0]) };
        match usize::try_from(got) {
            Ok(0) => break true,
            Ok(length) if files_of(&entries[..length]).all(|file| file == directory || is_own(file)) => {}
            _ => break false,
        }
    };
    sys::close(directory);
    all
}

/// The numbers of files in what `getdents64` has written.
fn files_of(mut entries: &[u8]) -> impl Iterator<Item = i32> + '_ {
    /// Where an entry has its length, and its name.
    const RECORD_LENGTH: usize = 16;
    const NAME: usize = 19;
    let records = core::iter::from_fn(move || {
        let length =
            usize::from(u16::from_ne_bytes([*entries.get(RECORD_LENGTH)?, *entries.get(RECORD_LENGTH + 1)?]));
        let (record, rest) = entries.split_at_checked(length.max(NAME))?;
        entries = rest;
        Some(&record[NAME..])
    });
    records.filter_map(|name| {
        let end = name.iter().position(|&byte| byte == 0)?;
        core::str::from_utf8(&name[..end]).ok()?.parse().ok()
    })
}

/// Whether a file is one that this process alone makes ready, by writing to it or closing it: an event counter, a pipe, or one of a pair of sockets.
pub(crate) fn is_made_ready_here(file: i32) -> bool {
    let mut path = [0; 64];
    let mut link = [0; LENGTH];
    let target = sys::read_link(path_of(&mut path, b"/proc/self/fd/", file as u32, b"\0"), &mut link);
    match target {
        b"anon_inode:[eventfd]" => true,
        _ if target.starts_with(b"pipe:") => file != libc::STDIN_FILENO,
        _ if target.starts_with(b"socket:") => is_of_pair(file),
        _ => false,
    }
}

fn is_own(file: i32) -> bool {
    const QUIET_DEVICES: [&[u8]; 5] =
        [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/random", b"/dev/urandom"];
    let mut path = [0; 64];
    let mut link = [0; LENGTH];
    let target = sys::read_link(path_of(&mut path, b"/proc/self/fd/", file as u32, b"\0"), &mut link);
    match target {
        [b'/', ..] => {
            !target.starts_with(b"/dev/")
                || target.starts_with(b"/dev/shm/")
                || QUIET_DEVICES.contains(&target)
        }
        b"anon_inode:[eventfd]" | b"anon_inode:[eventpoll]" | b"anon_inode:[signalfd]" => true,
        _ if target.starts_with(b"pipe:") => file != libc::STDIN_FILENO,
        _ if target.starts_with(b"socket:") => is_of_pair(file),
        _ => target.is_empty(),
    }
}

/// Whether it is a local socket without a name that is connected to another one without a name: what `socketpair` makes.
fn is_of_pair(socket: i32) -> bool {
    const NAMELESS: u32 = size_of::<libc::sa_family_t>() as u32;
    [libc::SYS_getsockname, libc::SYS_getpeername].iter().all(|&question| {
        let mut address = [0u8; 128];
        let mut length = address.len() as u32;
        let (place, length_place) =
            (address.as_mut_ptr() as usize, core::ptr::from_mut(&mut length) as usize);
        // SAFETY: the kernel writes as many bytes as there are, and their number.
        let answer = unsafe { sys::call(question, [socket as usize, place, length_place, 0, 0, 0]) };
        let family = libc::sa_family_t::from_ne_bytes([address[0], address[1]]);
        answer == 0 && i32::from(family) == libc::AF_UNIX && length == NAMELESS
    })
}

/// `before`, the number, `after`: a path.
fn path_of<'a>(buffer: &'a mut [u8; 64], before: &[u8], number: u32, after: &[u8]) -> &'a [u8] {
    let mut digits = [0; 20];
    let mut used = 0;
    for part in [before, settings::decimal(u64::from(number), &mut digits), after] {
        buffer[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    &buffer[..used]
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    fn has_no_limit(call: &str) -> bool {
        SleepingCall::parse(call.as_bytes()).expect("it is one").has_no_limit()
    }

    #[test]
    fn calls_with_a_limit_are_told_from_those_without() {
        assert!(has_no_limit("0 0x3 0x7ffe 0x1 0x0 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(has_no_limit("232 0x5 0x7ffe 0x400 0xffffffff 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(!has_no_limit("232 0x5 0x7ffe 0x400 0x3e8 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(has_no_limit("7 0x7ffe 0x1 0xffffffffffffffff 0x0 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(!has_no_limit("7 0x7ffe 0x1 0x0 0x0 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(has_no_limit("202 0x7ffe 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(!has_no_limit("202 0x7ffe 0x80 0x2 0x7ffe 0x0 0x0 0x7ffe 0x7f0a"));
        assert!(!has_no_limit("202 0x7ffe 0x81 0x2 0x0 0x0 0x0 0x7ffe 0x7f0a"), "waking is no waiting");
        assert!(!has_no_limit("35 0x7ffe 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f0a"), "nanosleep");
        assert!(SleepingCall::parse(b"running\n").is_none());
        assert!(SleepingCall::parse(b"0 0x3").is_none());
        assert!(SleepingCall::parse(b"-1 0x7ffe 0x7f0a").is_none());
    }

    #[test]
    fn a_thread_that_reads_from_an_empty_pipe_sleeps_without_limit() {
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        let (send, receive) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            send.send(sys::gettid()).expect("it is awaited");
            reader.read_exact(&mut [0]).expect("a byte comes");
        });
        let sleeper = receive.recv().expect("it says who it is");
        let start = Instant::now();
        while !sleeps_without_limit(sleeper) {
            assert!(start.elapsed() < Duration::from_secs(30), "it never sleeps");
            std::thread::sleep(Duration::from_millis(1));
        }
        writer.write_all(b"!").expect("it reads");
        thread.join().expect("it ends");
        assert!(!sleeps_without_limit(sleeper), "it is gone");
    }

    #[test]
    fn files_that_lead_outside_are_told_from_the_others() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let (one, other) = UnixStream::pair().expect("a pair of sockets");
        let directory = tempfile::tempdir().expect("a directory");
        let file = std::fs::File::create(directory.path().join("file")).expect("a file");
        let null = std::fs::File::open("/dev/null").expect("it is there");
        for own in [
            reader.as_raw_fd(),
            writer.as_raw_fd(),
            one.as_raw_fd(),
            other.as_raw_fd(),
            file.as_raw_fd(),
            null.as_raw_fd(),
        ] {
            assert!(is_own(own), "{own}");
        }
        let named = UnixListener::bind(directory.path().join("socket")).expect("a socket");
        let connected = UnixStream::connect(directory.path().join("socket")).expect("it listens");
        let network = TcpListener::bind("127.0.0.1:0").expect("a port");
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
        for outside in [named.as_raw_fd(), connected.as_raw_fd(), network.as_raw_fd(), datagrams.as_raw_fd()]
        {
            assert!(!is_own(outside), "{outside}");
        }
        let mut open: Vec<i32> = Vec::new();
        let listing = std::fs::File::open("/proc/self/fd").expect("it is there");
        let mut entries = [0u8; 4096];
        // SAFETY: the kernel writes into the buffer.
        let got = unsafe {
            sys::call(
                libc::SYS_getdents64,
                [listing.as_raw_fd() as usize, entries.as_mut_ptr() as usize, entries.len(), 0, 0, 0],
            )
        };
        open.extend(files_of(&entries[..usize::try_from(got).expect("no error")]));
        assert!(open.contains(&network.as_raw_fd()) && open.contains(&0), "{open:?}");
    }
}
