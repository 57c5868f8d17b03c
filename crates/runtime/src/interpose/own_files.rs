//! Waiting with a time limit for files that only this process can make ready: event counters, pipes and pairs of sockets. It is a wait in the
//! scheduler, so that it may be the time of its end at once, as for any other wait with a limit. Event loops sleep in such calls.
//!
//! Who uses a file wakes those who wait for files, and they look again. What makes a file ready without our seeing it is found when the time is over.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use wire::Waker;

use crate::asleep;
use crate::clock::{self, Wait};
use crate::inside::{Ended, Inside, enter};
use crate::program::scheduler;
use crate::schedule::{Key, Witness, World};

/// How many threads wait here. Its address is what they wait for.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// The most files of a wait that are looked at. With more, they may be anything.
pub(super) const MOST: usize = 16;

fn key() -> u64 {
    (&raw const WAITING) as u64
}

/// Whether a wait for these files, for a time, can be one in the scheduler.
pub(super) fn may_wait(mut files: impl Iterator<Item = c_int>) -> bool {
    clock::is_virtual()
        && scheduler().platform.witness() == Witness::Nothing
        && files.by_ref().take(MOST).all(asleep::is_made_ready_here)
        && files.next().is_none()
}

/// Waits until the files may be ready or the time is over, again and again until they are: what the question says then.
pub(super) fn wait(inside: &Inside, limit: Wait, is_ready: impl Fn() -> c_int) -> c_int {
    let end = inside.end_of(limit);
    loop {
        WAITING.fetch_add(1, Ordering::Relaxed);
        let ended = inside.block(Key::address(key()), end);
        WAITING.fetch_sub(1, Ordering::Relaxed);
        let result = is_ready();
        if result != 0 || ended == Ended::TimedOut {
            return result;
        }
        if ended == Ended::Interrupted || inside.thread().cancelled.load(Ordering::Relaxed) {
            // SAFETY: the thread's own error number.
            unsafe { *libc::__errno_location() = libc::EINTR };
            return -1;
        }
    }
}

/// The calling thread has used a file: others may be ready now.
pub(super) fn used() {
    if WAITING.load(Ordering::Relaxed) > 0
        && let Some(inside) = enter()
    {
        inside.wake_all(key(), Waker::Signal);
    }
}
