//! A survey: nothing is recorded, and each process leaves what it takes to start it again.

use core::sync::atomic::{AtomicU64, Ordering};

use wire::ProcessRecord;

use crate::settings::{self, Settings};
use crate::start;
use crate::sys;

/// When this process started, in nanoseconds: part of the names of its files, because the numbers of processes are used again. 0: it is
/// not part of a survey, or has said that it has threads.
static STARTED_AT: AtomicU64 = AtomicU64::new(0);

/// The longest path that is kept.
const PATH: usize = 4096;
/// The longest command, and the longest environment, that is kept: the kernel allows no more by default.
const WORDS: usize = 2 << 20;

/// Leaves the record of this process. What cannot be written is missing, and the launcher says that there was nothing.
pub(crate) fn leave_record(settings: &Settings) {
    let bytes = 2 * WORDS + 3 * PATH;
    let start = sys::map_memory(bytes);
    if start.is_null() {
        return;
    }
    // SAFETY: fresh memory that nobody else has.
    let buffer = unsafe { core::slice::from_raw_parts_mut(start, bytes) };
    let now = sys::now(libc::CLOCK_REALTIME);
    if write_record(settings, buffer, now) {
        STARTED_AT.store(now, Ordering::Relaxed);
    }
    // SAFETY: the buffer is not used any more.
    unsafe { sys::unmap(start, bytes) };
}

fn write_record(settings: &Settings, buffer: &mut [u8], now: u64) -> bool {
    let (command, rest) = buffer.split_at_mut(WORDS);
    let (environment, rest) = rest.split_at_mut(WORDS);
    let (program, rest) = rest.split_at_mut(PATH);
    let (directory, input) = rest.split_at_mut(PATH);
    let record = ProcessRecord {
        program: sys::read_link(b"/proc/self/exe\0", program),
        directory: sys::read_link(b"/proc/self/cwd\0", directory),
        input: sys::read_link(b"/proc/self/fd/0\0", input),
        command: settings::read(b"/proc/self/cmdline\0", command).unwrap_or_default(),
        environment: settings::read(b"/proc/self/environ\0", environment).unwrap_or_default(),
    };
    create(settings, now, wire::PROCESS_EXTENSION, |file| record.write(|piece| sys::write_all(file, piece)))
}

/// Makes a file of this process in the survey's directory; whether that worked.
fn create(settings: &Settings, time: u64, extension: &str, fill: impl FnOnce(i32) -> bool) -> bool {
    let (mut process, mut at) = ([0; 20], [0; 20]);
    let process = settings::decimal(u64::from(sys::getpid()), &mut process);
    let at = settings::decimal(time, &mut at);
    let mut path = Settings::path_buffer();
    let path = settings.path(&mut path, &[at, b"-", process, b".", extension.as_bytes()]);
    let file = sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL);
    if file < 0 {
        return false;
    }
    let filled = fill(file);
    sys::close(file);
    filled
}

/// This process creates a thread.
pub(crate) fn starts_thread() {
    if STARTED_AT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let time = STARTED_AT.swap(0, Ordering::Relaxed);
    if time != 0 {
        create(start::settings(), time, wire::THREADS_EXTENSION, |_| true);
    }
}
