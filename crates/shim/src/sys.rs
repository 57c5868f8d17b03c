//! The kernel, asked directly: what goes through the C library may be seen by ThreadSanitizer.

// One file for both libraries, without a crate between them.
#[path = "../../runtime/src/sys/call.rs"]
mod call;

use core::sync::atomic::AtomicU32;

pub(crate) use call::call;

/// Sleeps while the word has this value, at most this number of milliseconds.
pub(crate) fn wait(word: &AtomicU32, value: u32, milliseconds: i64) {
    let time = libc::timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word and the time live through the call.
    unsafe {
        let time = (&raw const time) as usize;
        call(libc::SYS_futex, [word.as_ptr() as usize, operation, value as usize, time, 0, 0]);
    }
}

/// Wakes everyone who sleeps on the word.
pub(crate) fn wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel only looks the address up.
    unsafe {
        call(libc::SYS_futex, [word.as_ptr() as usize, operation, i32::MAX as usize, 0, 0, 0]);
    }
}

/// Whether this is the process's first thread.
pub(crate) fn is_first_thread() -> bool {
    // SAFETY: takes nothing, touches nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) == call(libc::SYS_getpid, [0; 6]) }
}

/// Fresh memory of zeros; null if there is none.
pub(crate) fn memory(bytes: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new private mapping overlaps nothing.
    let result = unsafe { call(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) };
    if result < 0 { core::ptr::null_mut() } else { result as *mut u8 }
}

/// The content of the file with this name, which ends with a zero; empty if it cannot be had.
pub(crate) fn read(path: *const libc::c_char) -> &'static [u8] {
    const MOST: usize = 64 << 20;
    let here = libc::AT_FDCWD as isize as usize;
    let buffer = memory(MOST);
    if buffer.is_null() {
        return &[];
    }
    let mut used = 0;
    // SAFETY: the path is a string with its end; the kernel writes into the rest of the buffer, which stays.
    unsafe {
        let file = call(libc::SYS_openat, [here, path as usize, libc::O_CLOEXEC as usize, 0, 0, 0]);
        if file < 0 {
            return &[];
        }
        loop {
            let got = call(libc::SYS_read, [file as usize, buffer.add(used) as usize, MOST - used, 0, 0, 0]);
            if got <= 0 {
                break;
            }
            used += got as usize;
        }
        call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        core::slice::from_raw_parts(buffer, used)
    }
}
