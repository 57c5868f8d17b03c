//! What clients send to the program, if it is a server that the launcher drives: records in a file of the run directory, as `wire` defines
//! them. The file is mapped whole before the program begins, so nothing is opened later; what it has no room for is missing, and it says so.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use wire::{ClientHeader, ClientRecord};

use crate::inside::Inside;
use crate::losses;
use crate::settings::Settings;
use crate::sys;

static START: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// Bytes of whole records.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);
/// The process that writes: a child has the same mapping.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Maps the file, if the launcher has made one. Called once, before the program's own code runs.
pub(crate) fn open(settings: &Settings) {
    let mut path = Settings::path_buffer();
    let file = sys::open(settings.path(&mut path, &[wire::CLIENT_FILE.as_bytes()]), libc::O_RDWR);
    if file < 0 {
        return;
    }
    if sys::file_length(file) == ClientHeader::ROOM {
        let start = sys::map_file(file, 0, ClientHeader::ROOM);
        if !start.is_null() {
            losses::watch_clients(start, ClientHeader::ROOM);
            START.store(start, Ordering::Release);
            claim();
        }
    }
    sys::close(file);
}

/// The first process writes. If it is replaced by another program, what that does is missing, like what its children do.
fn claim() {
    let own = sys::getpid();
    let is_first = word(ClientHeader::OWNER_OFFSET)
        .is_some_and(|owner| owner.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_ok());
    OWNER.store(if is_first { own } else { 0 }, Ordering::Relaxed);
}

/// Whether there is such a file.
#[inline]
pub(crate) fn is_open() -> bool {
    !START.load(Ordering::Relaxed).is_null()
}

/// Whether this process is the one that writes.
pub(crate) fn is_own_process() -> bool {
    OWNER.load(Ordering::Relaxed) == sys::getpid()
}

/// Adds a record. The calling thread has the token, so nobody else does.
pub(crate) fn write(_: &Inside, record: &ClientRecord<'_>) {
    let start = START.load(Ordering::Acquire);
    if start.is_null() || !is_own_process() {
        return note_missing();
    }
    let is_written = record.with_parts(|parts| {
        let before = WRITTEN.load(Ordering::Relaxed);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > ClientHeader::ROOM - ClientHeader::BYTES - before {
            return false;
        }
        let mut at = ClientHeader::BYTES + before;
        for part in parts {
            // SAFETY: inside the mapping, as was just seen; nobody else writes there.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), start.add(at), part.len()) };
            at += part.len();
        }
        WRITTEN.store(before + length, Ordering::Relaxed);
        // SAFETY: inside the mapping, and aligned.
        let progress = unsafe { &*start.add(ClientHeader::PROGRESS_OFFSET).cast::<AtomicU64>() };
        progress.store((before + length) as u64, Ordering::Release);
        true
    });
    if is_written != Some(true) {
        note_missing();
    }
}

/// Says that not all is in the file. Any process with the mapping may.
pub(crate) fn note_missing() {
    if let Some(word) = word(ClientHeader::INCOMPLETE_OFFSET) {
        word.store(1, Ordering::Relaxed);
    }
}

/// Whether the launcher has nothing more to send, and waits for the program.
pub(crate) fn launcher_waits() -> bool {
    word(ClientHeader::WAITS_OFFSET).is_some_and(|word| word.load(Ordering::Relaxed) != 0)
}

/// Whether the launcher is the client, and answers questions.
pub(crate) fn has_answers() -> bool {
    word(ClientHeader::ANSWERS_OFFSET).is_some_and(|word| word.load(Ordering::Relaxed) != 0)
}

/// How many questions the launcher has answered.
pub(crate) fn answered() -> u32 {
    word(ClientHeader::ANSWERED_OFFSET).map_or(u32::MAX, |word| word.load(Ordering::Acquire))
}

fn word(offset: usize) -> Option<&'static AtomicU32> {
    let start = START.load(Ordering::Acquire);
    // SAFETY: the mapping stays; the word is inside its header, and aligned.
    (!start.is_null()).then(|| unsafe { &*start.add(offset).cast::<AtomicU32>() })
}
