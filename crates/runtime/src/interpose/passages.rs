//! What a file carries from thread to thread, and which two sockets are the ends of one connection.
//!
//! Two connected internet stream sockets know both addresses, so both ends compute the same number. Pairs made by
//! `socketpair` are remembered, and so are eventfds and epolls. All other files (unconnected sockets, sockets with names in the file
//! system, others of the kernel's own) count as one: this may add orders that do not exist, but it misses none.

use core::ffi::c_int;
use core::mem::zeroed;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use wire::Passage;

use crate::sys;

/// The pairs that `socketpair` made, by the kernel's numbers of their ends. Beyond these, pairs are like other sockets.
const MOST_PAIRS: usize = 1024;
static PAIRS: [[AtomicU64; 2]; MOST_PAIRS] = [const { [const { AtomicU64::new(0) }; 2] }; MOST_PAIRS];
static PAIR_COUNT: AtomicUsize = AtomicUsize::new(0);

/// What the file passes from thread to thread.
pub(crate) fn passage(file: c_int) -> Passage {
    let Some(about) = about(file) else { return Passage::None };
    match about.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Passage::Pipe(about.st_ino),
        libc::S_IFSOCK => {
            let known = pair_of(about.st_ino).or_else(|| remembered(about.st_ino));
            known.or_else(|| connected(file, about.st_ino)).unwrap_or(Passage::Sockets)
        }
        // What has no type is one of the kernel's own.
        0 => own_file(file).unwrap_or(Passage::Sockets),
        _ => Passage::None,
    }
}

/// The files of the kernel's own that were made, by their descriptors, as objects. Beyond these, they are like other files.
const MOST_OWN: usize = 4096;
static OWN: [AtomicU64; MOST_OWN] = [const { AtomicU64::new(0) }; MOST_OWN];
static OWN_COUNT: AtomicU32 = AtomicU32::new(0);

/// The place of a descriptor among the kernel's own files.
fn own_place(file: c_int) -> Option<&'static AtomicU64> {
    usize::try_from(file).ok().and_then(|file| OWN.get(file))
}

/// Remembers a file of the kernel's own: a passage of this kind, with the next number.
pub(crate) fn remember_own(file: c_int, kind: fn(u32) -> Passage) {
    if let Some(place) = own_place(file) {
        let number = OWN_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        place.store(kind(number).object(), Ordering::Relaxed);
    }
}

/// Another descriptor stands for the same file, whatever it stood for before.
pub(crate) fn copy_own(file: c_int, copy: c_int) {
    if let (Some(known), Some(place)) = (own_place(file), own_place(copy)) {
        place.store(known.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A descriptor no longer stands for a file of the kernel's own.
pub(crate) fn forget_own(file: c_int) {
    if let Some(place) = own_place(file) {
        place.store(0, Ordering::Relaxed);
    }
}

/// Which of the kernel's own files that were made it is.
fn own_file(file: c_int) -> Option<Passage> {
    Passage::of(own_place(file)?.load(Ordering::Relaxed))
}

fn about(file: c_int) -> Option<libc::stat> {
// SAFETY: the kernel writes into what we own, for which zero bytes are a value.
unsafe {
    let mut about: libc::stat = zeroed();
    let failed = sys::call(libc::SYS_fstat, [file as usize, (&raw mut about) as usize, 0, 0, 0, 0]) != 0;
    (!failed).then_some(about)
}
}

/// Remembers that these two sockets are connected to each other.
pub(crate) fn remember_pair(one: c_int, other: c_int) {
    let (Some(one), Some(other)) = (about(one), about(other)) else { return };
    let index = PAIR_COUNT.fetch_add(1, Ordering::Relaxed);
    if let Some(pair) = PAIRS.get(index) {
        pair[0].store(one.st_ino, Ordering::Relaxed);
        pair[1].store(other.st_ino, Ordering::Relaxed);
    } else {
        PAIR_COUNT.store(MOST_PAIRS, Ordering::Relaxed);
    }
}

fn pair_of(number: u64) -> Option<Passage> {
    let count = PAIR_COUNT.load(Ordering::Relaxed).min(MOST_PAIRS);
    let is_end = |pair: &&[AtomicU64; 2]| pair.iter().any(|end| end.load(Ordering::Relaxed) == number);
    // The kernel's numbers come around in time: the last of a number is the one there is.
    let pair = PAIRS[..count].iter().rev().find(is_end)?;
    Some(Passage::Connection(pair[0].load(Ordering::Relaxed)))
}

/// The connections of sockets, by the kernel's numbers: one that both ends have closed for writing no longer knows whom it was connected
/// to, but what was sent can still be read.
const REMEMBERED: usize = 4096;
static CONNECTIONS: [[AtomicU64; 2]; REMEMBERED] = [const { [const { AtomicU64::new(0) }; 2] }; REMEMBERED];

fn remembered(number: u64) -> Option<Passage> {
    let [socket, connection] = &CONNECTIONS[number as usize % REMEMBERED];
    let is_it = socket.load(Ordering::Relaxed) == number;
    is_it.then(|| Passage::Connection(connection.load(Ordering::Relaxed)))
}

/// The connection of a socket with this number, which is remembered.
fn connected(file: c_int, number: u64) -> Option<Passage> {
    let connection = connection(file)?;
    let [socket, known] = &CONNECTIONS[number as usize % REMEMBERED];
    known.store(connection, Ordering::Relaxed);
    socket.store(number, Ordering::Relaxed);
    Some(Passage::Connection(connection))
}

/// The connection that a stream socket of the internet is an end of, as a number that both ends come to.
pub(super) fn connection(file: c_int) -> Option<u64> {
// SAFETY: the kernel writes into what we own.
unsafe {
    let mut kind: c_int = 0;
    let mut length = size_of::<c_int>() as u32;
    let (kind_at, length_at) = ((&raw mut kind) as usize, (&raw mut length) as usize);
    let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_TYPE as usize);
    sys::call(libc::SYS_getsockopt, [file as usize, level, name, kind_at, length_at, 0]);
    if kind != libc::SOCK_STREAM {
        return None;
    }
    let (own, other) = (end(file, libc::SYS_getsockname)?, end(file, libc::SYS_getpeername)?);
    // Whichever end asks.
    Some(own.wrapping_add(other) % (1 << 47) + (1 << 47))
}
}

/// The address of one end, as this system call returns it, and its length.
pub(super) fn address_of(file: c_int, call: i64) -> Option<(libc::sockaddr_storage, u32)> {
// SAFETY: the kernel writes into what we own, for which zero bytes are a value.
unsafe {
    let mut address: libc::sockaddr_storage = zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as u32;
    let (address_at, length_at) = ((&raw mut address) as usize, (&raw mut length) as usize);
    let failed = sys::call(call, [file as usize, address_at, length_at, 0, 0, 0]) != 0;
    (!failed).then_some((address, length))
}
}

/// A number made of the address of one end, as this system call returns it.
fn end(file: c_int, call: i64) -> Option<u64> {
// SAFETY: the family says which address it is.
unsafe {
    let (address, _) = address_of(file, call)?;
    let (host, port) = match c_int::from(address.ss_family) {
        libc::AF_INET => {
            let address = &*(&raw const address).cast::<libc::sockaddr_in>();
            (u128::from(u32::from_be(address.sin_addr.s_addr)), address.sin_port)
        }
        libc::AF_INET6 => {
            let address = &*(&raw const address).cast::<libc::sockaddr_in6>();
            let host = u128::from_be_bytes(address.sin6_addr.s6_addr);
            // An address of the older kind in the newer's clothes.
            let mapped = host >> 32 == 0xffff;
            (if mapped { host & 0xffff_ffff } else { host }, address.sin6_port)
        }
        _ => return None,
    };
    let mixed = (host as u64 ^ (host >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Some((mixed ^ u64::from(port)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 17)
}
}
