//! What could not be recorded: a full disk, a quota or limit, a file that somebody cut short.
//!
//! The program goes on in any case, and the loss is written into the log's head, which has room since the log was opened. From
//! then on the head in memory is no longer the file's, so what the file says stays as it was.

use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use wire::{Losses, STREAM_START};

use crate::sys;
use crate::writer;

/// A mapping of the log's.
struct Mapped {
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

impl Mapped {
    const fn nothing() -> Mapped {
        Mapped { start: AtomicPtr::new(ptr::null_mut()), bytes: AtomicUsize::new(0) }
    }

    fn set(&self, start: *mut u8, bytes: usize) {
        self.bytes.store(0, Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn contains(&self, address: u64) -> bool {
        let start = self.start.load(Ordering::Relaxed) as u64;
        (start..start + self.bytes.load(Ordering::Relaxed) as u64).contains(&address)
    }

    /// Puts memory of our own in its place; whether that worked.
    fn replace(&self) -> bool {
        let (start, bytes) = (self.start.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        // SAFETY: nothing that was written to the mapping is read back.
        bytes > 0 && unsafe { sys::replace_mapping(start, bytes) }
    }
}

static FILE: AtomicI32 = AtomicI32::new(-1);
static HEAD: Mapped = Mapped::nothing();
static WINDOW: Mapped = Mapped::nothing();
/// What clients send.
static CLIENTS: Mapped = Mapped::nothing();
static NOTED: AtomicU32 = AtomicU32::new(0);

/// There is a new log, with this head.
pub(crate) fn watch_head(file: i32, head: *mut u8) {
    FILE.store(file, Ordering::Relaxed);
    NOTED.store(0, Ordering::Relaxed);
    HEAD.set(head, STREAM_START);
    WINDOW.set(ptr::null_mut(), 0);
}

/// This part of the log is mapped now.
pub(crate) fn watch_window(window: *mut u8, bytes: usize) {
    WINDOW.set(window, if window.is_null() { 0 } else { bytes });
}

/// What clients send is kept here.
pub(crate) fn watch_clients(start: *mut u8, bytes: usize) {
    CLIENTS.set(start, bytes);
}

/// Writes into the log's head that something is missing.
pub(crate) fn note(loss: Losses) {
    let before = NOTED.fetch_or(loss.0, Ordering::Relaxed);
    let file = FILE.load(Ordering::Relaxed);
    if file >= 0 && before & loss.0 == 0 {
        // Not through the mapping: that may be what is gone.
        sys::write_at(file, &(before | loss.0).to_le_bytes(), Losses::OFFSET as u64);
    }
}

/// The log ends here. What is counted from now on is counted in memory that nobody reads.
pub(crate) fn end_log(loss: Losses) {
    note(loss);
    HEAD.replace();
    writer::close();
}

/// Whether the program can go on although memory at this address is gone: it was the log's, or that of what clients send.
pub(crate) fn survives(address: u64) -> bool {
    if WINDOW.contains(address) {
        end_log(Losses::CUT);
        return WINDOW.replace();
    }
    if HEAD.contains(address) {
        writer::close();
        return HEAD.replace();
    }
    CLIENTS.contains(address) && CLIENTS.replace()
}
