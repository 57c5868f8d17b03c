//! System calls, made directly: the C library's wrappers may be interposed, set `errno` or be points of cancellation.

mod call;

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;

pub(crate) use call::call;

/// The kernel's id of this thread.
pub(crate) fn gettid() -> u32 {
    // SAFETY: takes nothing, touches nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// The id of this process, as the kernel has it: a child after `vfork` has its own.
pub(crate) fn getpid() -> u32 {
    // SAFETY: takes nothing, touches nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// Sleeps while the word has this value, at most for this number of nanoseconds.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, nanoseconds: Option<u64>) {
    let time = nanoseconds.map(to_timespec);
    let time = time.as_ref().map_or(0, |time| core::ptr::from_ref(time) as usize);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live through the call.
    unsafe {
        call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, value as usize, time, 0, 0]);
    }
}

/// Wakes one sleeper on the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel only looks the address up.
    unsafe {
        call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, 1, 0, 0, 0]);
    }
}

/// A number of nanoseconds in two parts.
pub(crate) fn to_timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// The time on this clock, in nanoseconds.
pub(crate) fn now(clock: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time we own.
    unsafe {
        call(libc::SYS_clock_gettime, [clock as usize, (&raw mut time) as usize, 0, 0, 0, 0]);
    }
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Really sleeps so long.
pub(crate) fn sleep(nanoseconds: u64) {
    let time = to_timespec(nanoseconds);
    // SAFETY: the time lives through the call.
    unsafe {
        call(libc::SYS_nanosleep, [(&raw const time) as usize, 0, 0, 0, 0, 0]);
    }
}

/// Lets another thread of the machine run.
pub(crate) fn yield_now() {
    // SAFETY: takes nothing, touches nothing.
    unsafe {
        call(libc::SYS_sched_yield, [0; 6]);
    }
}

/// Fresh memory of zeros; null if there is none.
pub(crate) fn map_memory(bytes: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new private mapping overlaps nothing.
    let result = unsafe { call(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) };
    if result < 0 { core::ptr::null_mut() } else { result as *mut u8 }
}

/// Fresh memory for this number of values, never given back; none if there is none.
pub(crate) fn map_array<T>(count: usize) -> Option<&'static mut [MaybeUninit<T>]> {
    let start: *mut MaybeUninit<T> = map_memory((count * size_of::<T>()).max(1)).cast();
    // SAFETY: a new mapping that is so long, aligned to a page, and never given back.
    (!start.is_null()).then(|| unsafe { core::slice::from_raw_parts_mut(start, count) })
}

/// A piece of a file, shared; null if it cannot be.
pub(crate) fn map_file(file: i32, offset: u64, bytes: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping overlaps nothing.
    let result = unsafe {
        call(
            libc::SYS_mmap,
            [0, bytes, protection, libc::MAP_SHARED as usize, file as usize, offset as usize],
        )
    };
    if result < 0 { core::ptr::null_mut() } else { result as *mut u8 }
}

/// Puts fresh memory of zeros in the place of a mapping; whether that worked.
///
/// # Safety
/// Nobody relies on what the mapping holds.
pub(crate) unsafe fn replace_mapping(start: *mut u8, bytes: usize) -> bool {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED) as usize;
    // SAFETY: by this function's contract.
    let result = unsafe { call(libc::SYS_mmap, [start as usize, bytes, protection, flags, usize::MAX, 0]) };
    result >= 0
}

/// Gives a mapping back.
///
/// # Safety
/// Nobody uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: nobody uses the mapping.
    unsafe {
        call(libc::SYS_munmap, [start as usize, bytes, 0, 0, 0, 0]);
    }
}

/// Opens the file with this name, which ends with a zero; negative if that fails.
pub(crate) fn open(path: &[u8], flags: i32) -> i32 {
    debug_assert_eq!(path.last(), Some(&0));
    let flags = (flags | libc::O_CLOEXEC) as usize;
    let here = libc::AT_FDCWD as isize as usize;
    // SAFETY: the path is a string with its end.
    unsafe { call(libc::SYS_openat, [here, path.as_ptr() as usize, flags, 0o600, 0, 0]) as i32 }
}

/// Where a link leads whose name ends with a zero; empty if that is not known.
pub(crate) fn read_link<'b>(path: &[u8], buffer: &'b mut [u8]) -> &'b [u8] {
    debug_assert_eq!(path.last(), Some(&0));
    let here = libc::AT_FDCWD as isize as usize;
    let target = buffer.as_mut_ptr() as usize;
    // SAFETY: the path is a string with its end, and the kernel writes into the buffer.
    let length =
        unsafe { call(libc::SYS_readlinkat, [here, path.as_ptr() as usize, target, buffer.len(), 0, 0]) };
    &buffer[..usize::try_from(length).unwrap_or(0)]
}

/// Closes a file.
pub(crate) fn close(file: i32) {
    // SAFETY: takes a number.
    unsafe {
        call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
    }
}

/// Reads to the end of the file or of the buffer; how much.
pub(crate) fn read_all(file: i32, buffer: &mut [u8]) -> usize {
    let mut used = 0;
    while used < buffer.len() {
        let rest = &mut buffer[used..];
        // SAFETY: the kernel writes into the rest of the buffer.
        let got =
            unsafe { call(libc::SYS_read, [file as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0]) };
        match got {
            1.. => used += got as usize,
            error if error == -(libc::EINTR as isize) => {}
            _ => break,
        }
    }
    used
}

/// Writes all of it, or as much as can be; whether it was all.
pub(crate) fn write_all(file: i32, mut bytes: &[u8]) -> bool {
    if !may_grow(file_length(file) as u64 + bytes.len() as u64) {
        return false;
    }
    while !bytes.is_empty() {
        // SAFETY: the kernel reads bytes we have.
        let put =
            unsafe { call(libc::SYS_write, [file as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
        match put {
            1.. => bytes = &bytes[put as usize..],
            error if error == -(libc::EINTR as isize) => {}
            _ => return false,
        }
    }
    true
}

/// Writes all of it at this place of the file, if it can be; whether it was.
pub(crate) fn write_at(file: i32, bytes: &[u8], offset: u64) -> bool {
    // SAFETY: the kernel reads bytes we have.
    let put = unsafe {
        call(libc::SYS_pwrite64, [file as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0])
    };
    put == bytes.len() as isize
}

/// Whether a file of this process may be so long. One that grows beyond its limit gets a signal, which ends the program.
fn may_grow(length: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: u64::MAX, rlim_max: 0 };
    // SAFETY: the kernel writes the limit we own.
    unsafe {
        call(libc::SYS_prlimit64, [0, libc::RLIMIT_FSIZE as usize, 0, (&raw mut limit) as usize, 0, 0])
    };
    length <= limit.rlim_cur
}

/// Makes sure that the disk has room for this piece of the file, which is at its end or beyond; whether it has.
pub(crate) fn allocate_file(file: i32, offset: u64, bytes: usize) -> bool {
    if !may_grow(offset + bytes as u64) {
        return false;
    }
    // SAFETY: takes numbers.
    let result = unsafe { call(libc::SYS_fallocate, [file as usize, 0, offset as usize, bytes, 0, 0]) };
    match result {
        error if error == -(libc::EOPNOTSUPP as isize) => fill_with_zeros(file, offset, bytes),
        result => result == 0,
    }
}

/// The same where the file system cannot: what is written has room. What is there stays.
fn fill_with_zeros(file: i32, offset: u64, bytes: usize) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    let end = offset + bytes as u64;
    let mut at = offset.max(file_length(file) as u64);
    while at < end {
        let piece = &ZEROS[..ZEROS.len().min((end - at) as usize)];
        if !write_at(file, piece, at) {
            return false;
        }
        at += piece.len() as u64;
    }
    true
}

/// Makes the file so long.
pub(crate) fn truncate_file(file: i32, bytes: u64) {
    // SAFETY: takes numbers.
    unsafe {
        call(libc::SYS_ftruncate, [file as usize, bytes as usize, 0, 0, 0, 0]);
    }
}

/// How long the file is.
pub(crate) fn file_length(file: i32) -> usize {
    // SAFETY: takes numbers.
    let length = unsafe { call(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]) };
    length.max(0) as usize
}

/// Copies what this process has at the address, if it has anything there; whether it does.
pub(crate) fn peek(address: u64, bytes: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut core::ffi::c_void, iov_len: bytes.len() };
    let (local, remote) = ((&raw const local) as usize, (&raw const remote) as usize);
    // SAFETY: the kernel writes to our bytes, and looks up the address.
    let copied = unsafe { call(libc::SYS_process_vm_readv, [getpid() as usize, local, 1, remote, 1, 0]) };
    copied == bytes.len() as isize
}

/// Whether the thread with this kernel id is gone.
pub(crate) fn is_gone(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 asks only.
    let result = unsafe { call(libc::SYS_tgkill, [process as usize, thread as usize, 0, 0, 0, 0]) };
    result == -(libc::ESRCH as isize)
}

/// Sends a signal to a thread.
pub(crate) fn signal_thread(process: u32, thread: u32, signal: i32) {
    // SAFETY: takes numbers.
    unsafe { call(libc::SYS_tgkill, [process as usize, thread as usize, signal as usize, 0, 0, 0]) };
}

/// Ends the process, without handlers.
pub(crate) fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: nothing comes after.
        unsafe {
            call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]);
        }
    }
}
